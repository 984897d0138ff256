import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from './free-port.ts'

/** Server process. `exit` resolves with its exit code after all of its output was read. */
export type Server = { process: ChildProcess; url: string; log: () => string; exit: Promise<number | null> }

export const secretForTests = 'a secret for tests that is long enough'

/** Starts the built server, as `npm start` does after building it. Resolves when it is ready or has exited. */
export async function start(folder: string, env: Record<string, string> = {}): Promise<Server> {
  const port = env.LISTEN_PORT ?? String(await freePort())
  const url = `http://localhost:${port}`
  const settings = {
    SERVER_URL: url,
    JWT_SECRET: secretForTests,
    LISTEN_PORT: port,
    DATA_DIR: folder,
    BCRYPT_COST: '10',
    // Only tests of scoring enable it.
    SCORING_ENABLED: 'false',
    ...env,
  }
  return launch([process.execPath, 'server/platform/launch/snug.mjs', 'start'], url, { env: { PATH: process.env.PATH, ...settings } })
}

/** Starts a server with a command. Resolves when it is ready or has exited. */
export async function launch(
  [program = '', ...args]: string[],
  url: string,
  options: { env: NodeJS.ProcessEnv; cwd?: string; detached?: boolean },
): Promise<Server> {
  const child = spawn(program, args, { ...options, stdio: 'pipe' })
  let text = ''
  const exit = once(child, 'close').then(([code]) => code as number | null)
  const ready = new Promise<void>((resolve) => {
    const hear = (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes('Snug is ready')) resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
    void exit.then(() => resolve())
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  await ready
  return { process: child, url, log: () => text, exit }
}

/** Creates a data folder that is removed after the test. */
export function folderForTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-fault-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Sends a request and returns the status, parsed JSON body and cookies. Sends POST if a body is given. */
export async function json(url: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(url, {
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...headers },
  })
  return { status: response.status, body: await response.json(), cookies: response.headers.getSetCookie() }
}

export const ownersAccount = { email: 'olive@example.com', displayName: 'Olive', password: 'a fine password' }

/** Completes the setup of a new server and returns a token of the owner. */
export async function ownersToken({ url, log }: Server): Promise<string> {
  const code = /Setup code: (\S+)/.exec(log())?.[1]
  const { setupToken } = (await json(`${url}/api/setup/verify`, { code })).body
  await json(`${url}/api/setup/complete`, { ...ownersAccount, setupToken })
  const { cookies } = await json(`${url}/api/auth/login`, ownersAccount)
  const cookie = cookies.map((one) => one.split(';', 1)[0]).join('; ')
  const csrf = /svc_csrf[^=]*=([^;]+)/.exec(cookie)?.[1] ?? ''
  return (await json(`${url}/api/auth/keys`, { name: 'test', scopes: ['admin'] }, { cookie, 'x-csrf-token': csrf })).body.secret
}

/** Publishes an archive with the protocol of pub clients. */
export async function publishTo({ url }: Server, authorization: string, archive: Buffer): Promise<void> {
  const { body } = await json(`${url}/api/packages/versions/new`, undefined, { authorization })
  const headers = { authorization, 'content-type': 'application/octet-stream' }
  const finish = await fetch(`${body.url}?upload_id=${body.fields.upload_id}`, { method: 'POST', body: new Uint8Array(archive), headers })
  if (finish.status !== 200) throw new Error(`Cannot publish: ${await finish.text()}`)
}
