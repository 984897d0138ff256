import { expect, it } from 'vitest'
import { openPage, settled } from '../support/browser.ts'
import { choose, consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'
import { acmeRule, githubClaims, TokenIssuer } from '../support/token-issuer.ts'

/** Starts a server that may contact an issuer on this machine. */
async function startWithIssuer() {
  const issuer = await TokenIssuer.start()
  const app = await consoleApp({ env: { TOKEN_ISSUER_HOSTS: issuer.host } })
  const dispose = async () => {
    await app[Symbol.asyncDispose]()
    await issuer[Symbol.asyncDispose]()
  }
  return { app, issuer, [Symbol.asyncDispose]: dispose }
}

it('adds a CI system, shows the state of its keys, and removes it', async () => {
  await using started = await startWithIssuer()
  const { app, issuer } = started
  const admin = await app.admin()
  const page = await openPage(app.url, { tolerate: [/status of 400/] })
  await startSession(page, app.url, admin.email)
  await page.goto('/admin/token-issuers')
  await page.getByText('No CI systems yet').waitFor()
  await expectSound(page, 'ci-systems-empty')
  await page.getByRole('button', { name: 'Add a CI system' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Add a CI system' })
  const address = dialog.getByRole('textbox', { name: 'Issuer' })
  expect(await address.inputValue()).toBe('https://token.actions.githubusercontent.com')
  await choose(page, 'CI system', 'GitLab CI')
  await expect.poll(() => address.inputValue()).toBe('https://gitlab.com')
  await expectSound(page, 'ci-system-form')
  await address.fill('https://127.0.0.1:9')
  await address.press('Enter')
  await dialog.getByRole('alert').or(dialog.locator('[id$="-error"]')).first().waitFor()
  await address.fill(issuer.url('gitlab'))
  await dialog.getByRole('textbox', { name: 'Name' }).fill('Our GitLab')
  await dialog.getByRole('button', { name: 'Add' }).click()
  const row = page.getByRole('row', { name: /Our GitLab/ })
  await row.getByText('Current').waitFor()

  issuer.answerKeys = (response) => void response.writeHead(500).end()
  await row.getByRole('button', { name: 'Refresh keys of Our GitLab' }).click()
  await row.getByText('Not refreshed').waitFor()
  await expectSound(page, 'ci-systems')
  issuer.answerKeys = null
  await row.getByRole('button', { name: 'Refresh keys of Our GitLab' }).click()
  await row.getByText('Current').waitFor()

  await row.getByRole('button', { name: 'Rename Our GitLab' }).click()
  await page.getByRole('dialog', { name: 'Rename Our GitLab' }).getByRole('textbox', { name: 'Name' }).fill('GitLab')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Remove GitLab' }).click()
  await page.getByRole('alertdialog').getByRole('textbox').fill('GitLab')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No CI systems yet').waitFor()
})

it('adds a trusted publisher to a package, shows what it did, and where a version came from', async () => {
  await using started = await startWithIssuer()
  const { app, issuer } = started
  const [admin, member] = [await app.admin(), await app.member()]
  await publishTo(app.url, member.secret ?? '', { name: 'acme_ui', version: '0.9.0' })
  const page = await openPage(app.url, { tolerate: [/status of 40[03]/] })
  await startSession(page, app.url, member.email)
  await page.goto('/packages/acme_ui/admin')
  await page.getByText('No CI system is known to this server yet.').waitFor()
  await admin.post('/api/token-issuers', { name: 'GitHub Actions', issuerUrl: issuer.url(), preset: 'GITHUB' })
  await page.reload()
  await page.getByRole('button', { name: 'Add trusted publisher' }).click()
  const dialog = page.getByRole('dialog', { name: 'Add trusted publisher' })
  expect(await dialog.getByRole('textbox', { name: 'Tag' }).inputValue()).toBe('v{{version}}')
  await dialog.getByRole('textbox', { name: 'Tag' }).fill('release')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await dialog.getByText(/must contain {{version}} once/).waitFor()
  await dialog.getByRole('textbox', { name: 'Tag' }).fill('v{{version}}')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await dialog.getByText(/name a repository/i).waitFor()
  await dialog.getByRole('textbox', { name: 'Repository' }).fill('acme/acme_ui')
  await dialog.getByRole('textbox', { name: 'Workflow file' }).fill('publish.yml')
  await dialog.getByRole('button', { name: 'Add claim' }).click()
  await dialog.getByRole('textbox', { name: 'Claim 1: name' }).fill('runner_environment')
  await dialog.getByRole('textbox', { name: 'Claim 1: value' }).fill('github-*')
  await expectSound(page, 'trusted-publisher-form')
  await dialog.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByText('Never used.').waitFor()
  await page
    .getByRole('region', { name: 'file for GitHub Actions' })
    .getByText(`dart pub token add ${app.url} --env-var SNUG_TOKEN`)
    .waitFor()
  await page.getByText('Forgejo Actions', { exact: true }).click()
  await page.getByRole('region', { name: 'file for Forgejo Actions' }).getByText('enable-openid-connect: true').waitFor()

  const token = (claims = {}) => issuer.token(app, { ...githubClaims, ...claims })
  await publishTo(app.url, await token(), { name: 'acme_ui', version: '1.0.0' })
  const fromMain = publishTo(app.url, await token({ ref: 'refs/heads/main' }), { name: 'acme_ui', version: '1.1.0' })
  await expect(fromMain).rejects.toThrow(/This job runs on refs\/heads\/main/)
  await page.reload()
  await page.getByText('Locked to the repository with the id 1.').waitFor()
  await page.getByText(/Last used/).waitFor()
  await page.getByText(/Last refused.*This job runs on refs\/heads\/main/).waitFor()
  await page.getByRole('heading', { name: 'Trusted publishers' }).scrollIntoViewIfNeeded()
  await expectSound(page, 'trusted-publishers')

  await page.getByRole('button', { name: 'Switch off…' }).click()
  await expectSound(page, 'manual-publishing')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Switch off' }).click()
  await page.getByText('Only jobs of trusted publishers can publish acme_ui.').waitFor()
  await expect(publishTo(app.url, member.secret ?? '', { name: 'acme_ui', version: '1.2.0' })).rejects.toThrow()

  await page.goto('/packages/acme_ui')
  await page.getByText('by acme/acme_ui (GitHub Actions)').waitFor()
  const about = page.getByRole('complementary')
  await about.getByRole('heading', { name: 'Provenance' }).waitFor()
  expect(await about.getByRole('link', { name: 'a'.repeat(12) }).getAttribute('href')).toContain(`/acme/acme_ui/commit/${'a'.repeat(40)}`)
  await expectSound(page, 'provenance')
  await page.goto('/packages/acme_ui/activity')
  await page
    .getByRole('row', { name: /1\.0\.0/ })
    .getByText('A CI job')
    .waitFor()

  await page.goto('/packages/acme_ui/admin')
  await page.getByRole('button', { name: 'Edit acme/acme_ui' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit trusted publisher' })
  expect(await edit.getByRole('textbox', { name: 'Workflow file' }).inputValue()).toBe('publish.yml')
  await edit.getByRole('radio', { name: 'Read only' }).click()
  await edit.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('listitem').getByText('Read only').waitFor()
  await page.getByRole('button', { name: 'Remove acme/acme_ui' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove' }).click()
  await page.getByText('No trusted publishers yet.').waitFor()

  const audit = await openPage(app.url)
  await startSession(audit, app.url, admin.email)
  await audit.goto('/admin/audit?kind=package.version_published')
  await audit.getByRole('button', { name: /Details: .*1\.0\.0/ }).click()
  await audit.getByRole('dialog').getByText('acme/acme_ui', { exact: true }).waitFor()
  await expectSound(audit, 'audit-provenance')
})

it('shows the trusted publishers of a publisher to its admins only', async () => {
  await using started = await startWithIssuer()
  const { app, issuer } = started
  const [admin, alice, bob] = [await app.admin(), await app.member(), await app.member()]
  await admin.post('/api/publishers', { id: 'acme', displayName: 'Acme' })
  await admin.put(`/api/publishers/acme/members/${alice.id}`, { role: 'admin' })
  const { id } = (await admin.post('/api/token-issuers', { name: 'GitHub Actions', issuerUrl: issuer.url(), preset: 'GITHUB' })).body as {
    id: string
  }
  const rule = { ...acmeRule, tagPattern: '{{name}}-v{{version}}', tokenIssuerId: id }
  expect((await alice.post('/api/publishers/acme/trusted-publishers', rule)).status).toBe(201)
  const page = await openPage(app.url)
  await startSession(page, app.url, alice.email)
  await page.goto('/publishers/acme/trusted-publishing')
  await page.getByText("tags: ['*-v*']").waitFor()
  expect(await page.title()).toBe('Trusted publishing · Acme · Snug')
  await expectSound(page, 'publisher-trusted-publishing')

  await publishTo(app.url, alice.secret ?? '', { name: 'acme_kit', version: '1.0.0' })
  await alice.put('/api/packages/acme_kit/publisher', { publisherId: 'acme' })
  await page.getByRole('button', { name: 'Switch off…' }).focus()
  await page.keyboard.press('Enter')
  await page.getByRole('alertdialog').getByRole('button', { name: 'Switch off' }).press('Enter')
  await page.getByText('Only jobs of trusted publishers can publish packages of Acme.').waitFor()
  await page.goto('/packages/acme_kit/admin')
  await page.getByText('Acme switched it off for all its packages.').waitFor()
  expect(await page.getByRole('button', { name: 'Switch off…' }).count()).toBe(0)
  await page.goto('/packages/acme_kit')
  await page.getByText('Manual publishing is off: only CI jobs publish this package.').waitFor()
  expect(await page.getByText('You can publish this package.').count()).toBe(0)
  await startSession(page, app.url, bob.email)
  await page.goto('/publishers/acme/trusted-publishing')
  await page.getByRole('alert').getByText('You do not administer the publisher acme.').waitFor()
  await settled(page)
  expect(await page.getByRole('link', { name: 'Trusted publishing' }).count()).toBe(0)
})
