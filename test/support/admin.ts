import { runAdmin } from '../../server/operations/admin/run.ts'
import type { TestApp } from '../app.ts'

/** Returns the environment variables of an operator's shell: the settings of the server. */
export function environmentOf({ config }: Pick<TestApp, 'config'>): Record<string, string> {
  const { SERVER_URL, JWT_SECRET, DATA_DIR, DB_BACKEND, SQLITE_PATH, POSTGRES_URL = '', BLOB_BACKEND, BLOB_PATH } = config
  const mirror = { UPSTREAM_URL: config.UPSTREAM_URL ?? '', UPSTREAM_NEVER: config.UPSTREAM_NEVER.join(',') }
  const { S3_BUCKET = '', S3_ENDPOINT = '', S3_ACCESS_KEY_ID = '', S3_SECRET_ACCESS_KEY = '' } = config
  const store = { BLOB_BACKEND, BLOB_PATH, S3_BUCKET, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY, S3_FORCE_PATH_STYLE: 'true' }
  return { BCRYPT_COST: '4', SERVER_URL, JWT_SECRET, DATA_DIR, DB_BACKEND, SQLITE_PATH, POSTGRES_URL, ...store, ...mirror }
}

/** Runs an admin command in this process with these settings. */
export async function runCommand(environment: Record<string, string>, ...words: string[]) {
  const said = { out: [] as string[], err: [] as string[] }
  const code = await runAdmin(words, {
    out: (text) => void said.out.push(text),
    err: (text) => void said.err.push(text),
    environment,
  })
  return { code, out: said.out.join('\n'), err: said.err.join('\n') }
}

/** Runs an admin command against the database of a running server. */
export const admin = (app: TestApp, ...words: string[]) => runCommand(environmentOf(app), ...words)

/** Runs an admin command with `--json` and returns its parsed output. */
export async function adminJson(app: TestApp, ...words: string[]) {
  const { code, out, err } = await admin(app, ...words, '--json')
  return { code, err, body: JSON.parse(out) }
}
