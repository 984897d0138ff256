import { chromium } from 'playwright-core'
import { browserBinary } from './browser-binary.ts'

// The registry must work in a closed network: here nothing but this machine can be found.
const onlyThisMachine = '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'

/** Vitest's global set-up: one browser for the whole run; every page gets a profile of its own. */
export default async function setup() {
  const { executablePath, env } = await browserBinary()
  const server = await chromium.launchServer({
    executablePath,
    env: { ...process.env, ...env },
    args: ['--no-sandbox', '--disable-gpu', onlyThisMachine], // the sandbox refuses root and most containers
    host: '127.0.0.1',
  })
  process.env.TEST_BROWSER = server.wsEndpoint() // inherited by the processes that run the tests
  return () => server.close()
}
