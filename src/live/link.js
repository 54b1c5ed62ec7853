// How the page talks with the program that serves it. src/web/link.js has the same functions for a planner in the browser.
export async function send(command) {
  try {
    const reply = await fetch('command', { method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(command) });
    return { good: reply.ok, text: await reply.text() };
  } catch (e) {
    return { good: false, text: gone };
  }
}
export async function get(name) { // 'about' or 'history'
  const reply = await fetch(name);
  if (!reply.ok) throw new Error(await reply.text());
  return reply.json();
}
export const recording = async () => 'recording'; // the address of a file
// Calls take(text) with every step, opened() when a stream begins, lost(why) when it ends.
export function listen(take, opened, lost) {
  const events = new EventSource('events');
  events.onmessage = message => take(message.data);
  events.onopen = opened;
  events.onerror = () => lost(gone);
}
const gone = 'The program does not answer: has it ended?';
