import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Report } from '../analysis/report.ts'
import { sizesOf } from '../analysis/sizes.ts'
import { importDartdoc } from '../api-pages/dartdoc.ts'
import { manifestName } from '../archive/manifest.ts'
import { describePubspec } from '../archive/pubspec.ts'
import { unpackInto } from '../archive/unpack.ts'
import { readYaml } from '../archive/yaml.ts'
import { keepPlainFiles, makeJobFolder, removeFolder } from '../sandbox/job-folder.ts'
import type { Limits } from '../sandbox/limits.ts'
import { type Outcome, run, sandboxWarning } from '../sandbox/run.ts'
import { readySdk } from '../sdks/ready.ts'
import type { Services } from '../services.ts'
import { withJobToken } from '../tokens/job-token.ts'
import { type Invocation, prepare, type Sdk } from './invocation.ts'
import { logLine, withoutPlaces } from './log.ts'
import { AnalysisNeedsFlutter, AnalysisNeedsSdk, PanaFailed, PanaOverLimit } from './problems.ts'
import { readablePackages } from './readable-packages.ts'
import { readSummary, type Summary } from './summary.ts'
import { faultOfReport } from './symptoms.ts'
import { toReport } from './to-report.ts'

export type PanaTask = {
  versionId: string
  name: string
  version: string
  /** Path of the .tar.gz on disk. */
  archive: string
  /** Whether only members read the package. */
  isPrivate: boolean
  /** How long it may take. */
  seconds: number
  /** What else it may take, where that is otherwise than usual. */
  limits?: Partial<Limits>
  signal?: AbortSignal
  /** Hears what pana logs while it works. */
  onLine?: (line: string) => void
  /** The folder in which the pages of `dart doc` are wanted as a zip; null when they are not. */
  docs: { folder: string } | null
}

export type PanaResult = Documentation & { report: Report; log: string[]; usage: Outcome['usage'] }

/** Path of the zip in the folder that the task names, or why there is none; neither when no pages were wanted. */
type Documentation = { docs: string | null; docsFailure: string | null }

/** What pana prints on stdout is its report, and nothing else. */
const reportBytes = 16 * 1024 ** 2
const logLines = 1000

/**
 * Judges a version with the default SDK: Flutter's for a package that needs Flutter, else Dart's, or what there is.
 * @throws AnalysisNeedsFlutter, AnalysisNeedsSdk when it is not installed; else as `analyzeOn`
 */
export const analyzeWithPana = (services: Services, task: PanaTask): Promise<PanaResult> =>
  analyzeOn(services, (usesFlutter) => defaultSdk(services, usesFlutter), task)

async function defaultSdk(services: Services, usesFlutter: boolean): Promise<Sdk> {
  const dart = usesFlutter ? null : await readySdk(services, 'dart')
  const sdk = dart ?? (await readySdk(services, 'flutter'))
  if (sdk !== null) return sdk
  if (usesFlutter) throw new AnalysisNeedsFlutter('The package needs Flutter. Install a Flutter SDK to judge it with pana.')
  throw new AnalysisNeedsSdk('No SDK is installed to judge packages with pana.')
}

/**
 * Judges a version with pana. Everything happens in a folder of its own, which is removed at the end, with a token that reads the dependencies
 * of this package here and nothing else, and that ends with the job.
 * @throws PanaFailed when it gives no report that says something, PanaOverLimit when it went over a limit; SandboxUnusable when nothing can be run on this machine
 */
export async function analyzeOn(services: Services, sdkFor: (usesFlutter: boolean) => Promise<Sdk>, task: PanaTask): Promise<PanaResult> {
  await warnOnce(services)
  const folder = await makeJobFolder(services.config)
  try {
    const files = await unpackInto(createReadStream(task.archive), join(folder, 'package'))
    const sdk = await sdkFor(await usesFlutter(join(folder, 'package')))
    const packages = await readablePackages(services, task.versionId)
    const grant = { packages, isForAnybody: !task.isPrivate, lifeMs: (task.seconds + 60) * 1000 }
    return await withJobToken(services, grant, async (token) => {
      const tidy = withoutPlaces({ folder, sdk, token })
      const invoked = await prepare(services.config, { folder, sdk, token, seconds: task.seconds })
      const outcome = await runPana(services, invoked, { ...task, folder, onLine: (line) => task.onLine?.(logLine(tidy(line))) })
      const log = outcome.lines.map((line) => logLine(tidy(line)))
      // What half an SDK says is no verdict on the package.
      if (!existsSync(sdk.mark)) throw new PanaFailed('The SDK was removed or rebuilt while pana used it.', log)
      const summary = summaryOf(outcome, tidy, log, task.seconds)
      const report = toReport(summary, { isPrivate: task.isPrivate, sizes: sizesOf(files) })
      return { report, log, usage: outcome.usage, ...(await takeDocs(invoked.docs, task)) }
    })
  } finally {
    await removeFolder(folder)
  }
}

async function warnOnce({ config, log }: Services): Promise<void> {
  if (warned.has(config)) return
  warned.add(config)
  const warning = await sandboxWarning(config)
  if (warning !== null) log.warning(warning)
}

const warned = new WeakSet<Services['config']>()

/** Whether a package is for Flutter, as the pub client sees it. */
async function usesFlutter(folder: string): Promise<boolean> {
  const { environment, dependencies } = describePubspec(readYaml(await readFile(join(folder, manifestName), 'utf8'), manifestName))
  return environment.some(({ sdk }) => sdk === 'flutter') || dependencies.some(({ sdk }) => sdk === 'flutter')
}

const runPana = (
  { config, stopping }: Services,
  { command, env, readable, origins }: Invocation,
  { folder, seconds, limits, signal, onLine }: Running,
) =>
  run(config, {
    folder,
    command,
    env,
    readable,
    network: origins,
    limits: { memoryBytes: config.SCORING_MEMORY_BYTES, outputBytes: 2 * reportBytes, cpuSeconds: 2 * seconds, ...limits, seconds },
    lines: logLines,
    stdoutBytes: reportBytes,
    signal: AbortSignal.any([stopping.signal, ...(signal ? [signal] : [])]),
    onLine,
  })

type Running = Pick<PanaTask, 'seconds' | 'limits' | 'signal'> & { folder: string; onLine: (line: string) => void }

function summaryOf({ end, code, stdout }: Outcome, tidy: (text: string) => string, log: string[], seconds: number): Summary {
  if (end === 'aborted') throw new PanaFailed('The analysis was called off.', log)
  if (end !== 'exited') throw new PanaOverLimit(overLimit[end](seconds), log)
  const summary = readSummary(tidy(stdout.toString('utf8')))
  if (summary === null && log.some((line) => outOfMemory.test(line))) throw new PanaOverLimit(overLimit.memory(seconds), log)
  if (summary === null)
    throw new PanaFailed(`pana ended with code ${code ?? 'none'} and without a report: ${log.at(-1) ?? 'it said nothing'}`, log)
  const fault = faultOfReport(summary, log)
  if (fault) throw fault
  return summary
}

const overLimit: Record<Exclude<Outcome['end'], 'exited' | 'aborted'>, (seconds: number) => string> = {
  timeout: (seconds) => `pana did not end within ${seconds} seconds, the limit.`,
  output: () => 'pana said more than it may.',
  memory: () => 'pana took more memory than it may.',
  processes: () => 'pana started more processes than it may.',
  disk: () => 'pana wrote more to the disk than it may.',
}

/** What Dart says when the kernel gives it no more. */
const outOfMemory = /\bOut of memory\b|\bExhausted heap space\b/

/** Takes the documentation out of the folder of the job. A package that has a report may do without. */
async function takeDocs(from: string, { name, version, docs }: PanaTask): Promise<Documentation> {
  if (docs === null) return { docs: null, docsFailure: null }
  const file = join(docs.folder, 'dartdoc.zip')
  try {
    await keepPlainFiles(from)
    await importDartdoc(from, { name, version }, file)
    return { docs: file, docsFailure: null }
  } catch (error) {
    return { docs: null, docsFailure: error instanceof Error ? error.message : String(error) }
  }
}
