import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { ApiError } from '../errors.ts'
import { buildReport } from './build-report.ts'
import { type Answer, archiveName, type Question } from './task.ts'
import { unpack } from './unpack.ts'

/** Analyzes the archive in a folder. */
export async function work({ facts }: Question, folder: string): Promise<Answer> {
  const usage = measure()
  try {
    const contents = await unpack(join(folder, archiveName))
    usage.look()
    const api = { libraries: [], files: [], unclear: [] }
    const report = buildReport({ contents, facts, api })
    const surface = await compress(JSON.stringify({}))
    return { report, surface, ...usage.taken() }
  } catch (error) {
    if (error instanceof ApiError) return { refused: `The archive cannot be read: ${error.message}`, ...usage.taken() }
    throw error
  }
}

const compress = promisify<string, Buffer>(gzip)

/** Measures this process from now on. The most memory is what it held when somebody looked. */
function measure() {
  const before = process.cpuUsage()
  let peakBytes = 0
  const look = () => (peakBytes = Math.max(peakBytes, process.memoryUsage.rss()))
  return {
    look,
    taken() {
      const { user, system } = process.cpuUsage(before)
      look()
      return { cpuMs: Math.round((user + system) / 1000), peakBytes, residentBytes: process.memoryUsage.rss() }
    },
  }
}
