import { openFilesystemBlobs } from '../blobs/filesystem.ts'
import { verifyBackups } from '../backup/verify/backups.ts'
import { verifyPlace } from '../backup/verify/server.ts'
import type { Verified } from '../backup/verify/findings.ts'
import type { Config } from '../config/config.ts'
import { openBeside } from '../db/orm.ts'
import { invalidInput } from '../errors.ts'
import { openBlobs } from '../store/open.ts'
import type { Outcome } from './commands.ts'
import { counted } from './counted.ts'

/**
 * Verifies the backups in a folder, or without one everything that this server keeps; `--json` tells it as JSON.
 * @returns what to tell the operator, with exit code 1 when something is not as it should be.
 * @throws ApiError InvalidInput for another option; NotFound for a folder without backups.
 */
export async function verify(config: Config, ...values: string[]): Promise<Outcome> {
  const option = values.find((value) => value.startsWith('-') && value !== '--json')
  const [folder, more] = values.filter((value) => !value.startsWith('-'))
  if (option !== undefined || more !== undefined)
    throw invalidInput(`Unknown argument ${option ?? more}: write verify [<folder>] [--json].`)
  const verified = folder === undefined ? await verifyServer(config) : await verifyBackups(folder)
  const text = values.includes('--json') ? JSON.stringify({ ok: verified.problems.length === 0, ...verified }) : describe(verified)
  return { text, code: verified.problems.length === 0 ? 0 : 1 }
}

async function verifyServer(config: Config): Promise<Verified> {
  const orm = await openBeside(config)
  try {
    const archives = await openBlobs(config)
    const docs = config.DOCS_BACKEND === 'filesystem' ? await openFilesystemBlobs(config.DOCS_PATH) : archives
    return await verifyPlace({ em: orm.em.fork(), config, stores: { archives, docs } })
  } finally {
    await orm.close(true)
  }
}

function describe({ checked, problems }: Verified): string {
  const lines = problems.map(({ where, problem }) => `${where}: ${problem}`)
  const counts = Object.entries(checked).map(([what, count]) => counted(count, what))
  return [
    ...lines,
    `Verified ${counts.join(', ')}: ${problems.length === 0 ? 'all as it should be' : counted(problems.length, 'problems')}.`,
  ].join('\n')
}
