import { it } from 'vitest'
import { openPage } from '../support/browser.ts'
import { consoleApp, publishTo, startSession } from '../support/console.ts'
import { expectSound } from '../support/looks.ts'

const wide = '| a | b | c | d | e | f |\n| - | - | - | - | - | - |\n| 1 | 2 | 3 | 4 | 5 | 6 |\n'
const code = `\`\`\`dart\nfinal ${'long'.repeat(60)} = 1;\n\`\`\`\n`
const files = { 'README.md': `# Acme\n\n- [x] done\n\n> quoted\n\n${wide}\n${code}`, 'example/main.dart': 'void main() {}\n' }

const addresses = {
  home: '/',
  packages: '/packages',
  'no hit': '/packages?q=zzzz',
  readme: '/packages/acme',
  'old version': '/packages/acme/versions/1.0.0',
  changelog: '/packages/acme/changelog',
  example: '/packages/acme/example',
  license: '/packages/acme/license',
  install: '/packages/acme/install',
  versions: '/packages/acme/versions',
  'missing package': '/packages/nope',
  tokens: '/settings/tokens',
  'new token': '/settings/tokens?new=1',
  'not found': '/no/such/page',
}

it('has no accessibility violations or overflow on any page, in light and dark mode, on desktop and mobile', async () => {
  await using app = await consoleApp()
  const { email, secret = '' } = await app.member()
  await publishTo(app.url, secret, { name: 'acme', version: '1.0.0', files }, { name: 'acme', version: '1.1.0', files })
  // The browser logs the 404 response of the page that does not exist.
  const page = await openPage(app.url, { tolerate: [/status of 404 .*\/no\/such\/page/] })
  await startSession(page, app.url, email)
  for (const [name, address] of Object.entries(addresses)) {
    await page.goto(address)
    await page
      .getByRole(name === 'new token' ? 'dialog' : 'heading')
      .first()
      .waitFor()
    await expectSound(page, name.replaceAll(' ', '-'))
  }
}, 180_000)
