import { createServer } from 'node:http'
import { expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot } from '../support/browser.ts'
const html = (body: string) => `<!doctype html><html lang="en"><head><title>t</title></head><body>${body}</body></html>`
const pages: Record<string,string> = {
  '/good': html('<main><h1>Hello Ünï</h1><p>some text</p></main>'),
  '/foreign': html('<main><h1>Hi</h1></main><img alt="x" src="http://example.com/x.png">'),
  '/axe': html('<main><h1>Hi</h1><img src="data:image/png;base64,iVBORw0KGgo="><input></main>'),
  '/throw': html('<main><h1>Hi</h1></main><script>console.error("bad"); throw new Error("boom")</script>'),
}
async function serve() {
  const s = createServer((q, r) => { const p = pages[q.url!]; r.writeHead(p ? 200 : q.url === '/favicon.ico' ? 204 : 404, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': q.url==='/good' ? "default-src 'self'" : "" }).end(p) }).listen(0, '127.0.0.1')
  await new Promise((d) => s.once('listening', d))
  return 'http://127.0.0.1:' + (s.address() as any).port
}
for (const path of ['/good', '/foreign', '/axe', '/throw', '/404'])
  it(path, async () => {
    const page = await openPage(await serve(), { tolerate: [/nothing/] })
    await page.goto(path)
    if (path !== '/404') expect(await page.textContent('h1')).toBeTruthy()
    else expect(1).toBe(1)
    await screenshot(page, 'shot' + path.replace('/', '-'))
    if (path === '/good' || path === '/axe') await expectAccessible(page)
  })
