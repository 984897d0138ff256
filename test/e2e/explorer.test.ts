import { expect, it } from 'vitest'
import { expectAccessible, openPage, screenshot } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'

const isVisible = (element: Element) => {
  const { top, bottom } = element.getBoundingClientRect()
  return top >= 0 && bottom <= innerHeight
}

const sizes = [
  [390, 844],
  [768, 1024],
  [1280, 800],
] as const

it('runs queries and mutations with the session or a token', async () => {
  await using app = await consoleApp({ path: '/registry' })
  const [alice, bob] = [await app.member({ displayName: 'Alice' }), await app.member({ displayName: 'Bob' })]
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  const response = await page.goto(`${app.url}/graphql`)
  expect(response?.headers()['content-security-policy']).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline/)
  const answer = page.getByRole('region', { name: 'Response as JSON' })
  const run = () => page.getByRole('button', { name: 'Run' }).click()
  for (const [width, height] of sizes) {
    await page.setViewportSize({ width, height })
    const { y = height, height: tall = 0 } = (await page.getByRole('button', { name: 'Run' }).boundingBox()) ?? {}
    expect(y + tall, `Run at ${width}`).toBeLessThan(height)
    await screenshot(page, `explorer-${width}`)
  }
  await page.setViewportSize({ width: 390, height: 844 })
  await run()
  await answer.getByText('"displayName": "Alice"').waitFor()
  const lowest = 844 - 160
  await expect.poll(async () => (await page.getByRole('heading', { name: 'Response' }).boundingBox())?.y).toBeLessThan(lowest)
  await page.setViewportSize({ width: 1280, height: 800 })

  await page.getByLabel('Headers').fill(JSON.stringify({ Authorization: `Bearer ${bob.secret}` }))
  await run()
  await answer.getByText('"displayName": "Bob"').waitFor()
  await page.getByLabel('Headers').fill('')

  await page
    .getByLabel('Query')
    .fill(
      'query Me { viewer { email } } mutation Rename($name: String!) { updateProfile(input: { displayName: $name }) { user { displayName } } }',
    )
  await page.getByLabel('Variables').fill('{"name": ')
  await run()
  await page.getByRole('alert').getByText('Variables must be a JSON object').waitFor()
  await page.getByLabel('Variables').fill('{"name": "Alice Anders"}')
  await page.getByRole('combobox', { name: 'Operation' }).click()
  await page.getByRole('option', { name: 'Rename', exact: true }).click()
  await page.getByRole('listbox').waitFor({ state: 'hidden' }) // the list moves the focus when it closes
  await page.getByLabel('Query').press('Control+Enter')
  await answer.getByText('"displayName": "Alice Anders"').waitFor()
  await expectAccessible(page)
  await screenshot(page, 'explorer-light')
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.reload()
  await expect.poll(() => page.getByLabel('Query').textContent()).toContain('mutation Rename')
  expect(await page.getByLabel('Headers').inputValue()).toBe('')
  await expectAccessible(page)
  await screenshot(page, 'explorer-dark')
})

it('completes fields of the schema, marks unknown ones, and offers examples', async () => {
  await using app = await consoleApp()
  const alice = await app.member({ displayName: 'Alice' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/graphql')
  const query = page.getByLabel('Query')
  await query.fill('{ viewer { displ } }')
  await expect.poll(() => page.locator('.cm-lintRange-error').textContent()).toBe('displ')
  await query.press('End')
  for (const _ of ' } }') await query.press('ArrowLeft')
  await query.press('Control+Space')
  await page.getByRole('option', { name: /^displayName/ }).waitFor()
  await expectAccessible(page)
  await screenshot(page, 'explorer-completion')
  await query.press('Enter')
  await expect.poll(() => query.textContent()).toContain('{ viewer { displayName } }')
  await query.press('Control+Enter')
  const answer = page.getByRole('region', { name: 'Response as JSON' })
  await answer.getByText('"displayName": "Alice"').waitFor()

  await page.getByRole('button', { name: 'Examples' }).click()
  await page.getByRole('menuitem', { name: 'Create an access token' }).click()
  await expect.poll(() => query.textContent()).toContain('mutation CreateToken')
  await page.getByRole('menu').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: 'Run' }).click()
  await answer.getByText('"name": "CI"').waitFor()
  await query.press('Control+z') // one undo step reverts the example
  await expect.poll(() => query.textContent()).toContain('{ viewer { displayName } }')
})

it('explains when queries require a token, and sends them with one', async () => {
  await using app = await consoleApp({ env: { GRAPHQL_FREE_QUERIES: 'tokens' } })
  const alice = await app.member({ displayName: 'Alice' })
  const page = await openPage(app.url, { tolerate: [/status of 403/] })
  await startSession(page, app.url, alice.email)
  await page.goto('/graphql')
  await page.getByText('only with an access token. Send one in the headers.').waitFor()
  const answer = page.getByRole('region', { name: 'Response as JSON' })
  await page.getByRole('button', { name: 'Run' }).click()
  await answer.getByText('This server accepts custom queries only with an access token').waitFor()
  await expectAccessible(page)
  await screenshot(page, 'explorer-tokens')
  await page.getByLabel('Headers').fill(JSON.stringify({ Authorization: `Bearer ${alice.secret}` }))
  await page.getByRole('button', { name: 'Run' }).click()
  await answer.getByText('"displayName": "Alice"').waitFor()
})

it('shows the documentation of the schema, and keeps a history without headers and variables', async () => {
  await using app = await consoleApp()
  const alice = await app.member({ displayName: 'Alice' })
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/graphql')
  await page.getByRole('button', { name: 'Documentation' }).press('Enter')
  const docs = page.getByRole('complementary', { name: 'Schema' })
  await docs.getByLabel('Search the schema').fill('rejected as Conflict unless')
  await docs.getByText('Nothing found.').waitFor()
  await docs.getByLabel('Search the schema').fill('unusedSince')
  await docs.getByRole('button', { name: 'Query.accessTokens(unusedSince)', exact: true }).click()
  await docs.getByRole('heading', { name: 'Query', exact: true }).waitFor()
  await expect.poll(() => docs.locator('[data-member=accessTokens]').evaluate(isVisible)).toBe(true)
  await docs.getByLabel('Search the schema').fill('isDiscontinued')
  await docs.getByRole('button', { name: 'Package.isDiscontinued', exact: true }).click()
  await docs.getByRole('heading', { name: 'Package', exact: true }).waitFor()
  await expectAccessible(page)
  await screenshot(page, 'explorer-documentation')
  await docs.getByRole('button', { name: 'PackageVersion', exact: true }).first().click()
  await docs.getByRole('heading', { name: 'PackageVersion', exact: true }).waitFor()
  await docs.getByRole('button', { name: 'Back' }).click()
  await docs.getByRole('heading', { name: 'Package', exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await docs.waitFor({ state: 'hidden' })

  for (const query of ['query First { viewer { email } }', 'query Second($x: Int = 1) { packages(first: $x) { totalCount } }']) {
    await page.getByLabel('Query').fill(query)
    await page.getByLabel('Variables').fill(query.includes('Second') ? '{"x": 7}' : '')
    await page.getByRole('button', { name: 'Run' }).click()
    await page
      .getByRole('region', { name: 'Response as JSON' })
      .getByText(query.includes('Second') ? 'totalCount' : alice.email)
      .waitFor()
  }
  expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('\\"x\\": 7')
  await page.reload()
  await expect.poll(() => page.getByLabel('Query').textContent()).toContain('query Second')
  await page.getByRole('button', { name: 'History' }).click()
  await page.getByRole('menuitem', { name: /^First \(query\)/ }).click()
  await expect.poll(() => page.getByLabel('Query').textContent()).toContain('query First')
  await page.getByRole('button', { name: 'History' }).click()
  await page.getByRole('menuitem', { name: 'Clear history' }).click()
  await expect.poll(() => page.getByRole('button', { name: 'History' }).isDisabled()).toBe(true)
})

it('fills examples with names that exist for the reader, and copies requests without credentials', async () => {
  await using app = await consoleApp()
  const alice = await app.member({ displayName: 'Alice' })
  const page = await openPage(app.url, { permissions: ['clipboard-read', 'clipboard-write'] })
  await startSession(page, app.url, alice.email)
  await page.goto('/graphql')
  await page.getByRole('button', { name: 'Examples' }).click()
  await page.getByText('You see no packages yet').waitFor()
  await page.keyboard.press('Escape')
  for (const version of ['1.0.0', '1.1.0']) await publishTo(app.url, alice.secret ?? '', { name: 'our_widgets', version })
  await page.reload()
  await page.getByRole('button', { name: 'Examples' }).click()
  await page.getByText('The examples use your package our_widgets.').waitFor()
  await page.getByRole('menuitem', { name: 'Compare two versions' }).click()
  await page.getByRole('menu').waitFor({ state: 'hidden' })
  expect(JSON.parse(await page.getByLabel('Variables').inputValue())).toEqual({ name: 'our_widgets', from: '1.0.0', to: '1.1.0' })
  await page.getByRole('button', { name: 'Run' }).click()
  const answer = page.getByRole('region', { name: 'Response as JSON' })
  await answer.locator('.hl-g', { hasText: '"comparison"' }).waitFor()
  await expectAccessible(page)

  await page.getByLabel('Headers').fill(JSON.stringify({ Authorization: `Bearer ${alice.secret}` }))
  await page.getByRole('button', { name: 'Copy as' }).press('Enter')
  await page.getByRole('menuitem', { name: 'curl' }).press('Enter')
  await page.getByText('Copied as curl. Set SNUG_TOKEN to an access token.').first().waitFor()
  const copied = await page.evaluate('navigator.clipboard.readText()')
  expect(copied).toContain(`curl -sS '${app.url}/graphql'`)
  expect(copied).toContain('$SNUG_TOKEN')
  expect(copied).not.toContain(alice.secret)
})
