// Chromium by its own protocol over two pipes: nothing to install, no port to find. Just what the browser test needs.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Chromium {
  constructor(program) {
    this.folder = mkdtempSync(join(tmpdir(), 'mawam-browser-'));
    const more = process.getuid() === 0 ? ['--no-sandbox'] : [];
    this.process = spawn(program, ['--headless=new', '--remote-debugging-pipe', '--disable-gpu', '--disable-dev-shm-usage',
      '--no-first-run', '--mute-audio', '--user-data-dir=' + this.folder, ...more, 'about:blank'],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
    this.waiting = new Map();
    this.handlers = [];
    this.next = 1;
    let rest = '';
    this.process.stdio[4].on('data', piece => {
      const parts = (rest + piece).split('\0');
      rest = parts.pop();
      for (const text of parts) this.take(JSON.parse(text));
    });
    this.process.stdio[3].on('error', () => {});
  }

  take(message) {
    const waiting = this.waiting.get(message.id);
    if (!waiting) {
      for (const handler of this.handlers) handler(message);
      return;
    }
    this.waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(waiting.method + ': ' + message.error.message));
    else waiting.resolve(message.result);
  }

  call(method, params = {}, sessionId = undefined) {
    const id = this.next++;
    this.process.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + '\0');
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, method }));
  }

  async open(url) {
    const { targetId } = await this.call('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.call('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    for (const domain of ['Page', 'Runtime', 'Log']) await page.call(domain + '.enable');
    await page.size(1200, 900);
    if (url) await page.call('Page.navigate', { url });
    return page;
  }

  async close() {
    const gone = new Promise(resolve => this.process.once('exit', resolve));
    await this.call('Browser.close').catch(() => {});
    await gone;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

class Page {
  constructor(browser, targetId, sessionId) {
    Object.assign(this, { browser, targetId, sessionId, complaints: [] });
    browser.handlers.push(m => {
      if (m.sessionId !== sessionId) return;
      if (m.method === 'Runtime.exceptionThrown') this.complaints.push(m.params.exceptionDetails.exception?.description || m.params.exceptionDetails.text);
      if (m.method === 'Log.entryAdded' && m.params.entry.level === 'error') this.complaints.push(m.params.entry.text);
    });
  }

  call(method, params) { return this.browser.call(method, params, this.sessionId); }

  // The value of an expression in the page.
  async see(expression) {
    const { result, exceptionDetails } = await this.call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(expression + ': ' + (exceptionDetails.exception?.description || exceptionDetails.text));
    return result.value;
  }

  async until(expression, seconds = 30) {
    const end = Date.now() + 1000 * seconds;
    for (;;) {
      const value = await this.see(`document.body && (${expression})`);
      if (value) return value;
      if (Date.now() > end) throw new Error('waited in vain for ' + expression);
      await new Promise(resolve => setTimeout(resolve, 30));
    }
  }

  size(width, height) { return this.call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: width < 500 }); }

  media(features) {
    return this.call('Emulation.setEmulatedMedia', { features: Object.entries(features).map(([name, value]) => ({ name, value })) });
  }

  async key(key) {
    for (const type of ['keyDown', 'keyUp'])
      await this.call('Input.dispatchKeyEvent', { type, key, code: key, text: type === 'keyDown' && key.length === 1 ? key : undefined });
  }

  async point([x, y]) { await this.call('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y }); }

  async press([x, y]) {
    for (const type of ['mousePressed', 'mouseReleased'])
      await this.call('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: type === 'mousePressed' ? 1 : 0, clickCount: 1 });
  }

  async drag(from, to) {
    const mouse = (type, [x, y]) => this.call('Input.dispatchMouseEvent', { type, x, y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1 });
    await mouse('mousePressed', from);
    await mouse('mouseMoved', [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]);
    await mouse('mouseMoved', to);
    await mouse('mouseReleased', to);
  }

  async picture() { return Buffer.from((await this.call('Page.captureScreenshot', { captureBeyondViewport: true })).data, 'base64'); }

  close() { return this.browser.call('Target.closeTarget', { targetId: this.targetId }); }
}
