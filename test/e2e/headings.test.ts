import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { openPage, screenshot } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

const files = {
  'README.md': '# Acme\n\n## Usage\n\n#### Details\n\n## Support\n\n# Second part\n\nSetext\n------\n',
  'CHANGELOG.md': '## 1.0.0\n\n### Added\n\n- All of it.\n',
}

/** Returns the headings of the page from the accessibility tree, with their levels: "2 Usage". */
async function outline(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page)
  const { nodes } = await session.send('Accessibility.getFullAXTree')
  await session.detach()
  const headings = nodes.filter(({ role, ignored }) => role?.value === 'heading' && !ignored)
  const levelOf = ({ properties = [] }: (typeof nodes)[number]) => properties.find(({ name }) => name === 'level')?.value.value
  return headings.map((node) => `${levelOf(node)} ${node.name?.value.trim()}`)
}

it("nests the headings of documents below the page's own, without skipping levels", async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0', files })
  const page = await openPage(app.url)
  await startSession(page, app.url, email)
  await page.goto('/packages/acme')
  await page.getByRole('heading', { name: 'Second part' }).waitFor()
  const readme = ['1 acme 1.0.0', '2 Acme', '3 Usage', '4 Details', '3 Support', '2 Second part', '3 Setext']
  expect((await outline(page)).slice(0, readme.length)).toEqual(readme)
  const sizeOf = (name: string) =>
    page.getByRole('heading', { name, exact: true }).evaluate((heading) => Number.parseFloat(getComputedStyle(heading).fontSize))
  expect(await sizeOf('Acme')).toBeGreaterThan(await sizeOf('Usage'))
  await screenshot(page, 'headings-readme')

  await page.goto('/packages/acme/changelog')
  await page.getByRole('heading', { name: 'Added' }).waitFor()
  expect((await outline(page)).slice(0, 3)).toEqual(['1 acme 1.0.0', '2 1.0.0', '3 Added'])
})
