/* ---- time ---- */
const rate = follow ? 20 : data.family === 'mpe' ? 8 : 6; /* steps per second at 1x */
let time = 0, playing = false, previous = 0;
const earned = (e, i) => 'return ' + (e.sums[Math.min(i, e.last)] || 0).toFixed(2) +
  ' of ' + e.sums[e.sums.length - 1].toFixed(2);
function render() {
  const i = Math.min(Math.floor(time + 1e-6), last), k = Math.min(i, main.last), shapes = shapesAt(main, time);
  drawView($('top'), [0, 1], shapes, k, looked());
  if (follow) drawView($('side'), [0, 2], shapes, -1, -1);
  if (alone) {
    const others = shapesAt(alone, time);
    drawView($('alone-top'), [0, 1], others, -1, -1);
    if (follow) drawView($('alone-side'), [0, 2], others, -1, -1);
    $('alone-total').textContent = earned(alone, i);
  }
  showCandidates(k);
  drawPlot(time);
  $('time').value = i;
  $('clock').textContent = 'step ' + i + ' / ' + last;
  $('total').textContent = earned(main, i);
  $('play').textContent = playing ? 'Pause' : 'Play';
}
function seek(to) { playing = false; time = Math.max(0, Math.min(last, to)); render(); }
function setPlaying(on) {
  if (on && time >= last) time = 0;
  if (on) held = -1;
  playing = on; previous = 0;
  render();
  if (on) requestAnimationFrame(tick);
}
function tick(now) {
  if (!playing) return;
  if (previous) time += (now - previous) / 1000 * rate * Number($('speed').value);
  previous = now;
  if (time >= last) { time = last; playing = false; }
  render();
  if (playing) requestAnimationFrame(tick);
}
function changeSpeed(by) {
  const s = $('speed');
  s.selectedIndex = Math.max(0, Math.min(s.options.length - 1, s.selectedIndex + by));
}
/* Pictures, scores, controls and rewards fit a laptop's height together; on a phone they follow one another. */
function layout() {
  readInk();
  const phone = innerWidth <= 900, most = phone ? 0.6 * innerHeight : Math.max(220, innerHeight - 350);
  const ratio = follow ? 0.8 : Math.max(0.35, (box[3] - box[1]) / (box[2] - box[0]) || 0.7);
  const height = decided && !phone ? most : Math.min(most, ratio * $('top').clientWidth);
  for (const id of alone ? ['', 'alone-'] : ['']) {
    fit($(id + 'top'), follow ? 0.6 * height : height);
    if (follow) fit($(id + 'side'), 0.4 * height);
  }
  fit($('plot'), 96);
  $('scale').style.background = 'linear-gradient(90deg,' + [0, 0.25, 0.5, 0.75, 1].map(ramp).join() + ')';
  legend();
  shown = -1;
  render();
}

/* ---- start ---- */
document.title = data.task + ' - mawam replay';
$('task').textContent = data.task;
$('subtitle').textContent = data.subtitle;
$('name').textContent = alone ? 'Planned' : 'Played';
$('alone-name').textContent = alone ? data.beside.label : '';
$('plot-label').textContent = alone ? 'mean of the agents: solid as planned, dashed the policy alone' :
  'mean of the agents in bold, each agent in its colour where they differ';
$('alone').hidden = !alone;
$('judged').hidden = !decided;
$('stage').className = (decided ? 'judged ' : '') + (alone ? 'beside' : '');
for (const id of ['side', 'alone-side']) $(id).hidden = !follow;
$('time').max = last;
$('help').innerHTML = (decided ? 'Hover a candidate, in the list or in the picture, to see it alone; click to hold it. ' : '') +
  '<kbd>space</kbd> play or pause <kbd>&larr;</kbd> <kbd>&rarr;</kbd> one step <kbd>&uarr;</kbd> <kbd>&darr;</kbd> speed';
function seekPlot(e) {
  const r = $('plot').getBoundingClientRect();
  seek(Math.round((e.clientX - r.left - 52) / (r.width - 60) * last));
}
function under(e) {
  const c = $('top'), r = c.getBoundingClientRect(), s = c.width / r.width;
  return nearest(frameAt(main, time), view(c, [0, 1], shapesAt(main, time)), (e.clientX - r.left) * s, (e.clientY - r.top) * s);
}
$('play').onclick = () => setPlaying(!playing);
$('time').oninput = e => seek(Number(e.target.value));
$('plot').onpointerdown = seekPlot;
$('plot').onpointermove = e => { if (e.buttons) seekPlot(e); };
$('top').onpointermove = e => { if (e.pointerType !== 'touch') look(under(e)); };
$('top').onpointerleave = () => look(-1);
$('top').onclick = e => { const k = under(e); if (k >= 0) look(k, true); };
addEventListener('keydown', e => {
  const stop = { ' ': () => setPlaying(!playing), ArrowRight: () => seek(Math.floor(time + 1e-6) + 1),
    ArrowLeft: () => seek(Math.ceil(time - 1e-6) - 1), ArrowUp: () => changeSpeed(1), ArrowDown: () => changeSpeed(-1),
    Home: () => seek(0), End: () => seek(last) }[e.key];
  if (!stop || e.ctrlKey || e.metaKey || e.altKey) return;
  e.preventDefault();
  stop();
});
addEventListener('resize', layout);
dark.addEventListener('change', layout);
/* page.html#step=12 opens there, paused; #step=12,3 with candidate 3 held. */
const wanted = /^#step=([0-9]+)(?:,([0-9]+))?$/.exec(location.hash);
if (wanted) { time = Math.min(last, Number(wanted[1])); held = wanted[2] ? Number(wanted[2]) : -1; }
layout();
if (!wanted && !matchMedia('(prefers-reduced-motion: reduce)').matches) setPlaying(true);
