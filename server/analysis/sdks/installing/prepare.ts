import { execFile } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { SandboxUnusable } from '../../../platform/sandbox/capabilities.ts'
import { type Outcome, run } from '../../../platform/sandbox/run.ts'
import { exists, trustGit, type pathsOf } from '../ready.ts'
import type { Services } from '../../../services.ts'
import { InstallRejected } from '../platform.ts'
import type { Track } from './track.ts'

type Prepared = { dartVersion: string; panaVersion: string | null }
type Places = ReturnType<typeof pathsOf>

const execute = promisify(execFile)

const versionLine = /Dart SDK version: (\d\S*)/
const activated = /Activated pana (\d[^\s]*?)\.?(\s|$)/

/**
 * Reads the SDK's version by running it, and activates pana in its own PUB_CACHE, which must not be moved, since pub writes absolute paths into it.
 * @throws InstallRejected when the SDK does not run here or has another version; Error when pana cannot be installed.
 */
export async function prepare(services: Pick<Services, 'config' | 'state'>, places: Places, track: Track): Promise<Prepared> {
  const { config } = services
  const { kind, version } = track.install
  if (!(await exists(places.dart))) throw new InstallRejected(`The archive has no program ${places.dart.slice(places.path.length + 1)}.`)
  await rm(places.pubCache, { recursive: true, force: true })
  await mkdir(join(places.pubCache, '.home'), { recursive: true, mode: 0o755 })
  const dart = (...args: string[]) => runIn(services, places, track, [places.dart, ...args])
  const versionOutput = await dart('--version')
  const dartVersion = versionLine.exec(versionOutput.lines.join('\n'))?.[1]
  if (versionOutput.code !== 0 || !dartVersion) throw new InstallRejected(`It does not run on this machine: ${describe(versionOutput)}`)
  if (kind === 'dart' && dartVersion !== version) throw new InstallRejected(`The archive holds Dart ${dartVersion}, not ${version}.`)
  if (kind === 'flutter') {
    const flutter = await runIn(services, places, track, [join(places.path, 'bin', 'flutter'), '--version'])
    if (flutter.code !== 0)
      track.addLine('`flutter --version` failed, so the analysis of packages that need Flutter may fail with this SDK.')
  }
  track.addLine(`Getting pana from ${config.SDK_PUB_HOSTED_URL} …`)
  const outcome = await dart('pub', 'global', 'activate', 'pana')
  if (outcome.code !== 0 || !(await exists(places.panaPath)))
    throw new Error(`pana cannot be installed from ${config.SDK_PUB_HOSTED_URL} (SDK_PUB_HOSTED_URL): ${describe(outcome)}`)
  await keepForServer(places.pubCache)
  return { dartVersion, panaVersion: activated.exec(outcome.lines.join('\n'))?.[1] ?? null }
}

async function runIn(
  services: Pick<Services, 'config' | 'state'>,
  { path, pubCache }: Places,
  track: Track,
  command: string[],
): Promise<Outcome> {
  const env = {
    HOME: join(pubCache, '.home'),
    PUB_CACHE: pubCache,
    PUB_HOSTED_URL: services.config.SDK_PUB_HOSTED_URL,
    CI: 'true',
    ...trustGit,
  }
  const onLine = (line: string) => track.addLine(line)
  try {
    const job = { folder: pubCache, readable: [path], network: true, command, env, limits: { seconds: 300 } }
    const outcome = await run(services, { ...job, onLine, signal: track.signal })
    track.signal.throwIfAborted()
    return outcome
  } catch (error) {
    throw error instanceof SandboxUnusable ? new InstallRejected(error.message) : error
  }
}

const describe = ({ end, code, lines }: Outcome): string =>
  lines.at(-1) ?? (end === 'exited' ? `it exited with ${code ?? 'a signal'} and printed nothing` : `it was stopped because of its ${end}`)

/** Makes root the owner of the files, because commands run as a separate user must not be able to change them later. */
async function keepForServer(folder: string): Promise<void> {
  if (process.getuid?.() === 0) await execute('chown', ['-RP', '0:0', folder])
}
