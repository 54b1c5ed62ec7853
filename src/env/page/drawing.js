/* ---- drawing ---- */
function fit(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = height + 'px';
  canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
}
function grid(g, c, cam, side) {
  const span = c.width / cam.scale, step = [0.25, 0.5, 1, 2, 4, 8].find(s => span / s <= 14) || 16;
  g.lineWidth = 1;
  g.strokeStyle = ink.grid;
  g.beginPath();
  for (let k = Math.floor((cam.cx - span) / step); k <= (cam.cx + span) / step; k++) {
    const x = cam.u([k * step, 0, 0]);
    g.moveTo(x, 0); g.lineTo(x, c.height);
  }
  for (let k = Math.floor((cam.cy - span) / step); !side && k <= (cam.cy + span) / step; k++) {
    const y = cam.v([0, k * step, 0]);
    g.moveTo(0, y); g.lineTo(c.width, y);
  }
  g.stroke();
  if (follow) { /* metres, to see the motion by */
    g.fillStyle = ink.soft; g.font = 11 * (window.devicePixelRatio || 1) + 'px system-ui, sans-serif';
    g.textAlign = 'center'; g.textBaseline = 'bottom';
    for (let k = Math.floor((cam.cx - span) / step); k <= (cam.cx + span) / step; k++)
      if (k * step % 1 === 0) g.fillText(k * step, cam.u([k * step, 0, 0]), c.height - 2);
  }
  g.strokeStyle = ink.line;
  g.lineWidth = 2;
  if (side) { const y = cam.v([0, 0, 0]); g.beginPath(); g.moveTo(0, y); g.lineTo(c.width, y); g.stroke(); }
  if (data.family === 'mpe')
    g.strokeRect(cam.u([-1, 0]), cam.v([0, 1]), 2 * cam.scale, 2 * cam.scale);
}
function bar(g, x, y, w, h, fraction, hue) {
  g.fillStyle = '#00000073';
  g.fillRect(x, y, w, h);
  g.fillStyle = hue;
  g.fillRect(x, y, w * Math.max(0, Math.min(1, fraction)), h);
}
function fade(g, x, y, u, v, hue) {
  const gradient = g.createLinearGradient(x, y, u, v);
  gradient.addColorStop(0, hue + '30');
  gradient.addColorStop(1, hue);
  return gradient;
}
function drawShape(g, s, cam) {
  const x = cam.u(s.a), y = cam.v(s.a), r = s.radius * cam.scale, hue = colour(s);
  const dpr = window.devicePixelRatio || 1;
  g.fillStyle = g.strokeStyle = hue;
  g.lineCap = 'round';
  if (s.kind === CIRCLE) {
    g.beginPath(); g.arc(x, y, Math.max(r, 1), 0, 2 * Math.PI); g.fill();
    if (s.role === 'agent' || s.role === 'enemy' || s.role === 'prey') {
      g.lineWidth = dpr; g.strokeStyle = ink.card; g.stroke();
      if (s.id >= 0 && s.role !== 'prey' && r > 6 * dpr) {
        g.fillStyle = '#ffffff';
        g.font = '600 ' + Math.min(r, 13 * dpr) + 'px system-ui, sans-serif';
        g.textAlign = 'center'; g.textBaseline = 'middle';
        g.fillText(s.id, x, y - (s.health >= 0 ? 0.3 * r : 0));
      }
    }
  } else if (s.kind === RECT) {
    const u = cam.u(s.b), v = cam.v(s.b);
    g.globalAlpha = 0.18; g.fillRect(Math.min(x, u), Math.min(y, v), Math.abs(u - x), Math.abs(v - y));
    g.globalAlpha = 1;
  } else {
    g.lineWidth = s.kind === LINE ? 2 * dpr : Math.max(2 * r, dpr);
    if (s.role === 'attack') { /* from the one who strikes, stronger towards the target */
      g.strokeStyle = fade(g, x, y, cam.u(s.b), cam.v(s.b), hue);
    }
    g.beginPath(); g.moveTo(x, y); g.lineTo(cam.u(s.b), cam.v(s.b)); g.stroke();
    if (s.kind === CAPSULE && follow) {
      g.lineWidth = Math.max(2 * r - 3 * dpr, 1); g.globalAlpha = 0.35; g.strokeStyle = '#ffffff';
      g.stroke(); g.globalAlpha = 1;
    }
  }
}
function drawTarget(g, s, cam) {
  const x = cam.u(s.a), y = cam.v(s.a), r = s.radius * cam.scale;
  g.strokeStyle = ink.ink; g.lineWidth = 1.5 * (window.devicePixelRatio || 1);
  g.beginPath(); g.arc(x, y, r, 0, 2 * Math.PI);
  g.moveTo(x - 1.5 * r, y); g.lineTo(x + 1.5 * r, y); g.moveTo(x, y - 1.5 * r); g.lineTo(x, y + 1.5 * r);
  g.stroke();
}
/* Inside the disc, so that the bars of units that touch stay apart. */
function drawBars(g, s, cam) {
  const dpr = window.devicePixelRatio || 1, r = s.radius * cam.scale, w = Math.max(1.4 * r, 14 * dpr);
  const x = cam.u(s.a) - w / 2, y = cam.v(s.a) + 0.3 * r, h = Math.max(0.16 * r, 2.5 * dpr);
  if (s.health >= 0) bar(g, x, y, w, h, s.health, s.health > 0.35 ? '#4ade80' : '#fde047');
  if (s.shield >= 0) bar(g, x, y + h + dpr, w, h, s.shield, '#7dd3fc');
}
/* ---- imagined paths, with what is executed and what then happened ---- */
function trace(g, cam, points) {
  g.beginPath();
  points.forEach((p, i) => i ? g.lineTo(cam.u(p), cam.v(p)) : g.moveTo(cam.u(p), cam.v(p)));
}
/* A line on a wider one, which sets it off against whatever is below. */
function stroke(g, cam, points, hue, width, casing) {
  const dpr = window.devicePixelRatio || 1;
  trace(g, cam, points);
  g.lineJoin = g.lineCap = 'round';
  if (casing) { g.strokeStyle = casing; g.lineWidth = (width + 2.5) * dpr; g.stroke(); }
  g.strokeStyle = hue; g.lineWidth = width * dpr; g.stroke();
}
function dot(g, cam, p, radius, hue, edge) {
  const dpr = window.devicePixelRatio || 1;
  g.beginPath(); g.arc(cam.u(p), cam.v(p), radius * dpr, 0, 2 * Math.PI);
  g.fillStyle = hue; g.fill();
  if (edge) { g.strokeStyle = edge; g.lineWidth = 1.5 * dpr; g.stroke(); }
}
function drawPaths(g, i, cam, look) {
  const f = main.frames[i], dpr = window.devicePixelRatio || 1;
  if (!f.paths.length) return;
  const order = p => p.of === look ? 2 : p.of === f.chosen ? 1 : 0;
  for (const p of f.paths.slice().sort((p, q) => order(p) - order(q))) {
    const points = pairs(p.points), hue = ramp(rank(f, p.of)), top = order(p);
    g.globalAlpha = top || look < 0 ? 1 : 0.25;
    stroke(g, cam, points, hue, top ? 3 : 1.5, top === 2 ? ink.accent : top ? ink.ink : null);
    if (top) dot(g, cam, points[points.length - 1], 4, hue, top === 2 ? ink.accent : ink.ink);
  }
  g.globalAlpha = 1;
  g.setLineDash([5 * dpr, 4 * dpr]);
  if (look < 0) for (const points of meanPaths(f)) stroke(g, cam, points, ink.ink, 2, null);
  g.setLineDash([]);
  const steps = f.paths[0].points.length / 2 - 1;
  for (const points of wentFrom(i, steps)) for (const p of points.slice(1)) dot(g, cam, p, 2.2, ink.card, ink.ink);
}
/* The candidate whose path is nearest to a place on the canvas, if near enough; else -1. */
function nearest(f, cam, x, y) {
  let best = -1, least = 14 * (window.devicePixelRatio || 1);
  for (const p of f.paths) {
    const points = pairs(p.points);
    for (let i = 1; i < points.length; i++) {
      const [ax, ay, bx, by] = [cam.u(points[i - 1]), cam.v(points[i - 1]), cam.u(points[i]), cam.v(points[i])];
      const long = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
      const t = Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / long));
      const away = Math.hypot(x - mix(ax, bx, t), y - mix(ay, by, t));
      if (away < least) { least = away; best = p.of; }
    }
  }
  return best;
}
function drawView(canvas, axes, shapes, decision, look) {
  const g = canvas.getContext('2d'), cam = view(canvas, axes, shapes), side = axes[1] === 2;
  g.clearRect(0, 0, canvas.width, canvas.height);
  grid(g, canvas, cam, side);
  const order = follow ? shapes.slice().sort((p, q) => side ? q.a[1] - p.a[1] : p.a[2] - q.a[2]) : shapes;
  for (const s of order) if (s.role !== 'floor' || side) drawShape(g, s, cam);
  for (const s of order) if (s.role === 'landmark') drawTarget(g, s, cam); /* seen through the agents on it */
  for (const s of order) if (s.health >= 0 || s.shield >= 0) drawBars(g, s, cam);
  if (decision >= 0) drawPaths(g, decision, cam, look);
}
