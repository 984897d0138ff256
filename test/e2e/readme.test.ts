import { expect, it } from 'vitest'
import { drawn, expectAccessible, openPage, settled } from '../support/browser.ts'
import { consoleApp, overflow, publishTo, startSession } from '../support/console.ts'
import { expectSound, showAs } from '../support/looks.ts'

const code = "import 'package:acme/acme.dart';\n\nvoid main() => run();"
const readme = `# Acme

> [!TIP]
> Read the [guide](doc/guide.md#start) and the [changes](CHANGELOG.md#100), or ask [others](https://example.com/).

## Usage

\`\`\`dart
${code}
\`\`\`

## Options

| ${'option | '.repeat(30)}
| ${'--- | '.repeat(30)}
| ${'a long value | '.repeat(30)}

${'Text.\n\n'.repeat(40)}

### Details

${'Text.\n\n'.repeat(40)}

## Support
`
const logo = '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200" viewBox="0 0 2 1"><rect width="2" height="1"/></svg>'

async function readmePage(path: string, text = readme, { pubspec = '', base = '', tolerate = [] as RegExp[] } = {}) {
  const app = await consoleApp(base ? { path: base } : {})
  const alice = await app.member()
  await publishTo(app.url, alice.secret ?? '', {
    name: 'acme',
    version: '1.0.0',
    pubspec,
    files: { 'README.md': text, 'logo.svg': logo, 'CHANGELOG.md': '## 1.0.0\n\n- First.\n', 'doc/guide.md': '# Start' },
  })
  const page = await openPage(app.url, { permissions: ['clipboard-read', 'clipboard-write'], tolerate })
  await startSession(page, app.url, alice.email)
  await page.goto(base + path)
  await page.locator('.document').waitFor()
  return { app, page }
}

it('copies the code of a README with the keyboard', async () => {
  const { app, page } = await readmePage('/packages/acme')
  await using _app = app
  await expect.poll(() => page.locator('.code-block .hl-k').allTextContents()).toContain('void ')
  await page.getByRole('button', { name: 'Copy code' }).focus()
  await page.keyboard.press('Enter')
  await page.getByText('Copied code.').waitFor()
  expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(code)
})

it('marks the current section in the outline, and opens a section of the URL', async () => {
  const { app, page } = await readmePage('/packages/acme#doc-details')
  await using _app = app
  const outline = page.getByRole('navigation', { name: 'On this page' })
  await expect.poll(() => outline.locator('[aria-current]').textContent()).toBe('Details')
  expect(await outline.getByRole('link').allTextContents()).toEqual(['Usage', 'Options', 'Details', 'Support'])
  await outline.getByRole('link', { name: 'Usage' }).click()
  await expect.poll(() => outline.locator('[aria-current]').textContent()).toBe('Usage')
  expect(new URL(page.url()).hash).toBe('#doc-usage')
  await settled(page)
  await showAs(page, 'telephone', 'dark')
  await page.getByText('On this page').click()
  expect(await page.getByRole('navigation', { name: 'On this page' }).getByRole('link').count()).toBe(4)
  expect(await overflow(page)).toBeLessThanOrEqual(0)
  await expectAccessible(page)
})

it('opens links to files and tabs without loading the page again', async () => {
  const { app, page } = await readmePage('/packages/acme')
  await using _app = app
  await page.evaluate('window.isSamePage = true')
  await page.getByRole('link', { name: 'changes' }).click()
  const release = page.locator('.heading', { hasText: '1.0.0' }).locator('.release')
  expect(await release.textContent()).toMatch(/^Published \w{3} \d+, \d{4}$/)
  await drawn(page)
  await expectAccessible(page)
  await page.goBack()
  await page.getByRole('link', { name: 'guide' }).click()
  await expect.poll(() => page.url()).toMatch(/\/packages\/acme\/versions\/1\.0\.0\/files\/doc\/guide\.md#start$/)
  expect(await page.evaluate('window.isSamePage')).toBe(true)
})

it('opens files of links into the repository if the version has them, else the repository', async () => {
  const forgejo = 'https://git.acme.example/acme/tools'
  const links = [
    `[guide](${forgejo}/src/branch/main/acme/doc/guide.md#start)`,
    `[folder](${forgejo}/src/tag/v1/acme/doc)`,
    `[changes](${forgejo}/src/branch/main/acme/CHANGELOG.md#100)`,
    `[missing](${forgejo}/src/branch/main/acme/doc/none.md)`,
    `[license](${forgejo}/src/branch/main/acme/NOTICE)`,
    `[other](${forgejo}/src/branch/main/other/doc/guide.md)`,
  ]
  const pubspec = `repository: ${forgejo}/src/branch/main/acme\n`
  const { app, page } = await readmePage('/packages/acme', links.join(' '), {
    pubspec,
    base: '/registry',
    tolerate: [/another origin: https:\/\/git\.acme\.example\//],
  })
  await using _app = app
  await page.route(`${forgejo}/**`, (route) => route.fulfill({ contentType: 'text/html', body: '<title>Forgejo</title>' }))
  await page.evaluate('window.isSamePage = true')
  const version = `${app.url}/packages/acme/versions/1.0.0`
  for (const [name, url] of [
    ['guide', `${version}/files/doc/guide.md#start`],
    ['folder', `${version}/files/doc`],
    ['changes', `${version}/changelog#doc-100`],
  ] as const) {
    await page.locator('.document').getByRole('link', { name }).click()
    await expect.poll(() => page.url()).toBe(url)
    expect(await page.evaluate('window.isSamePage')).toBe(true)
    await page.goBack()
  }
  for (const [name, path] of [
    ['missing', 'acme/doc/none.md'],
    ['license', 'acme/NOTICE'],
    ['other', 'other/doc/guide.md'],
  ] as const) {
    await page.locator('.document').getByRole('link', { name }).click()
    await expect.poll(() => page.url()).toBe(`${forgejo}/src/branch/main/${path}`)
    await page.goBack()
  }
})

it('shows images in the size of their attributes, and nested lists with different marks', async () => {
  const { app, page } = await readmePage(
    '/packages/acme',
    `<img alt="high" src="logo.svg" height="100"> <img alt="wide" src="logo.svg" width="60px;"> <img alt="plain" src="logo.svg">

- a
  - b
    - c
      1. d

<ol type="A"><li>e</li></ol>`,
  )
  await using _app = app
  const sizeOf = (name: string) =>
    page.evaluate<string>(`(({ width, height }) => width + ' × ' + height)(document.querySelector('.document [alt=${name}]'))`)
  await expect.poll(() => sizeOf('high')).toBe('200 × 100')
  await expect.poll(() => sizeOf('wide')).toBe('60 × 30')
  await expect.poll(() => sizeOf('plain')).toBe('400 × 200')
  const marks = "[...document.querySelectorAll('.document :is(ul, ol)')].map((list) => getComputedStyle(list).listStyleType)"
  expect(await page.evaluate(marks)).toEqual(['disc', 'circle', 'square', 'lower-alpha', 'upper-alpha'])
})

it('keeps the marks of links to other sites on the line of their text', async () => {
  const links = Array.from({ length: 80 }, (_, index) => `[${'word'.repeat(1 + (index % 5))}](https://example.com/${index})`)
  const { app, page } = await readmePage('/packages/acme', `${links.join(' ')}\n\n${links.join(', ')}`)
  await using _app = app
  await showAs(page, 'telephone', 'light')
  const widths = await page.evaluate<number[]>(
    "[...document.querySelectorAll('.document a')].flatMap((link) => [...link.getClientRects()].map(({ width }) => width))",
  )
  expect(widths.length).toBeGreaterThanOrEqual(160)
  expect(Math.min(...widths)).toBeGreaterThan(30)
})

it('mirrors blocks of right-to-left text, and describes pictures that are missing', async () => {
  const text = `- שלום עולם
- עוד שורה

> [!NOTE]
> טקסט בעברית

1. English text

![The state of the build](https://127.0.0.1:1/build.svg) ![](doc/gone.png)
`
  const { app, page } = await readmePage('/packages/acme', text, { tolerate: [/status of|Failed to load|ERR_/] })
  await using _app = app
  const directionOf = (selector: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector('.document ${selector}')).direction`)
  expect([await directionOf('ul'), await directionOf('.markdown-alert'), await directionOf('ol')]).toEqual(['rtl', 'rtl', 'ltr'])
  const missing = page.locator('.missing-picture')
  await expect.poll(() => missing.count()).toBe(2)
  expect(await missing.first().textContent()).toBe('The state of the build · 127.0.0.1:1')
  await showAs(page, 'telephone', 'dark')
  await expectAccessible(page)
})

it('shows formulas, which scroll if they are long', async () => {
  const text = `The area is $\\pi r^2$, for $5.\n\n$$\n${'x_1 + '.repeat(100)} y\n$$\n\n$${'x_1 + '.repeat(100)} y$\n\n$\\frac$\n`
  const { app, page } = await readmePage('/packages/acme', text)
  await using _app = app
  const formula = page.locator('.document p math').first()
  expect(await formula.textContent()).toBe('πr2')
  expect((await formula.boundingBox())?.width).toBeGreaterThan(10)
  expect(await page.locator('.document code').textContent()).toBe('$\\frac$')
  await expect.poll(() => page.locator('.math-block').getAttribute('tabindex')).toBe('0')
  await expectSound(page, 'formulas')
})

const diagram = (source: string) => `\`\`\`mermaid\n${source}\n\`\`\`\n\n`
const greeting = 'sequenceDiagram\n  Alice->>Bob: <b>Hello</b> <img src=/api/likes onerror=parent.isBroken=true>'

it('draws diagrams on demand, in the colors of the console, without cookies', async () => {
  const { app, page } = await readmePage('/packages/acme', diagram('flowchart LR\n  A[Publish] --> B[Store]') + diagram(greeting))
  await using _app = app
  const buttons = page.locator('.diagram-bar').getByRole('button')
  await buttons.first().waitFor()
  const scripts: Promise<Record<string, string>>[] = []
  page.on('request', (request) => request.frame().parentFrame() && scripts.push(request.allHeaders()))
  expect(await page.locator('iframe').count()).toBe(0)
  await buttons.first().press('Enter')
  await page.getByRole('button', { name: 'Show source' }).waitFor()
  expect(await page.getByText('flowchart LR').isVisible()).toBe(false)
  const frame = page.locator('iframe').contentFrame()
  await frame.getByText('Store').waitFor()
  const sent = await Promise.all(scripts)
  expect(sent.map(({ cookie }) => cookie)).toEqual([undefined, undefined])
  expect((await page.locator('iframe').boundingBox())?.height).toBeGreaterThan(40)
  const colorScheme = () => page.frames().at(-1)?.evaluate('getComputedStyle(document.documentElement).colorScheme')
  expect(await colorScheme()).toBe('light')
  await showAs(page, 'telephone', 'dark')
  await expect.poll(colorScheme).toBe('dark')
  await expectSound(page, 'diagram')
  await buttons.first().click()
  await page.getByText('flowchart LR').waitFor()
  expect(await page.locator('iframe').count()).toBe(0)
  await buttons.last().click()
  await page.getByRole('button', { name: 'Show source' }).waitFor()
  expect(await frame.locator('img, script[src*="likes"]').count()).toBe(0)
})

it('isolates the frame of a diagram, and keeps the source of what it cannot draw', async () => {
  const tolerate = [/Content Security Policy|Failed to load|ERR_|status of|violates|Sandbox/i]
  const { app, page } = await readmePage('/packages/acme', diagram('flowchart LR\n  A[ -->') + diagram('pie\n  "a": 1'), { tolerate })
  await using _app = app
  const buttons = page.locator('.diagram-bar').getByRole('button')
  const failure = page.locator('.diagram-bar').getByText('The diagram could not be drawn, so its source is shown.')
  await buttons.first().click()
  await failure.waitFor()
  expect(await page.getByText('flowchart LR').isVisible()).toBe(true)
  expect(await page.locator('iframe').count()).toBe(0)
  await buttons.last().click()
  await page.getByRole('button', { name: 'Show source' }).waitFor()
  const outcomeOf = (expression: string) =>
    page.frames().at(-1)?.evaluate(`(async () => { try { return String(await ${expression}) } catch (error) { return error.name } })()`)
  expect(await outcomeOf('document.cookie')).toBe('SecurityError')
  expect(await outcomeOf('parent.document')).toBe('SecurityError')
  expect(await outcomeOf('localStorage')).toBe('SecurityError')
  expect(await outcomeOf(`fetch('${app.url}/api/v1/health')`)).toBe('TypeError')
  expect(
    await outcomeOf(
      "new Promise((done) => Object.assign(new Image(), { onload: done, onerror: () => done('blocked') }).src = '/icon-512.png')",
    ),
  ).toBe('blocked')
  // Messages of other frames, and other messages of this one, are ignored.
  await page.evaluate("postMessage({ hasFailed: true }, '*')")
  await outcomeOf("parent.postMessage({ height: '1px;position:fixed' }, '*')")
  await outcomeOf("Object.assign(document.body.style, { height: '1000000px' }) && dispatchEvent(new Event('resize'))")
  await expect.poll(async () => (await page.locator('iframe').boundingBox())?.height).toBe(10_000)

  await page.route('**/assets/diagram-frame-*', (route) => route.fulfill({ status: 404 }))
  await buttons.first().click()
  await failure.waitFor()
})

it('links to the whole file below a README that is shortened', async () => {
  const { app, page } = await readmePage('/packages/acme', `# Acme\n\n${'A long line of words. '.repeat(50)}\n\n`.repeat(300))
  await using _app = app
  await page.getByRole('link', { name: 'Open README.md' }).click()
  await expect.poll(() => page.url()).toMatch(/\/packages\/acme\/versions\/1\.0\.0\/files\/README\.md$/)
})
