import { createReadStream, existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Report } from '../report/report.ts'
import { importDartdoc } from '../api-pages/dartdoc.ts'
import { manifestName, unpackInto } from '../../registry/archive/read.ts'
import { describePubspec } from '../../registry/archive/pubspec.ts'
import { readYaml } from '../../registry/archive/yaml.ts'
import { removeSpecialFiles, makeJobFolder, removeFolder } from '../../platform/sandbox/job-folder.ts'
import type { Limits } from '../../platform/sandbox/command.ts'
import { type Job, type Outcome, run, sandboxWarning } from '../../platform/sandbox/run.ts'
import { readySdk } from '../sdks/ready.ts'
import type { Services } from '../../services.ts'
import { withJobToken } from '../../accounts/tokens/job-token.ts'
import { prepare, type Sdk, logLine, redactPaths, readablePackages } from './invocation.ts'
import { AnalysisNeedsFlutter, AnalysisNeedsSdk, PanaFailed, PanaOverLimit, readSummary, type Summary, toReport } from './to-report.ts'
import { sizesOf } from '../report/unpack.ts'

declare module '../../services.ts' {
  interface State {
    /** Whether a warning about the sandbox was logged, if there is any. */
    isSandboxChecked?: true
  }
}

export type PanaTask = {
  versionId: string
  name: string
  version: string
  /** Path of the .tar.gz on disk. */
  archive: string
  /** Whether only members can read the package. */
  isPrivate: boolean
  /** Timeout in seconds. */
  seconds: number
  limits?: Partial<Limits>
  signal?: AbortSignal
  onLine?: (line: string) => void
  /** The folder for the documentation by `dart doc` as a zip file; null for no documentation. */
  docs: { folder: string } | null
}

export type PanaResult = Documentation & { report: Report; log: string[]; usage: Outcome['usage'] }

/** Path of the zip file, or why packing failed. Both are null if no documentation was requested. */
type Documentation = { docs: string | null; docsFailure: string | null }

/** Maximum size of pana's stdout, which contains only the report. */
const reportBytes = 16 * 1024 ** 2
const logLines = 1000

/**
 * Analyzes a version with the default SDK: the Flutter SDK for a package that needs Flutter, otherwise the Dart SDK, or whichever is installed.
 * @throws AnalysisNeedsFlutter, AnalysisNeedsSdk when no suitable SDK is installed; otherwise as `analyzeOn`.
 */
export const analyzeWithPana = (services: Services, task: PanaTask): Promise<PanaResult> =>
  analyzeOn(services, (usesFlutter) => defaultSdk(services, usesFlutter), task)

async function defaultSdk(services: Services, usesFlutter: boolean): Promise<Sdk> {
  const dart = usesFlutter ? null : await readySdk(services, 'dart')
  const sdk = dart ?? (await readySdk(services, 'flutter'))
  if (sdk !== null) return sdk
  if (usesFlutter) throw new AnalysisNeedsFlutter('The package needs Flutter. Install a Flutter SDK to analyze it with pana.')
  throw new AnalysisNeedsSdk('No SDK is installed. Install one to analyze packages with pana.')
}

/**
 * Analyzes a version with pana in a temporary folder. The job's access token can only read this package's dependencies, and expires with the job.
 * @throws PanaFailed when pana returns no usable report; PanaOverLimit when it exceeds a limit; SandboxUnusable without a working sandbox.
 */
export async function analyzeOn(services: Services, sdkFor: (usesFlutter: boolean) => Promise<Sdk>, task: PanaTask): Promise<PanaResult> {
  await warnOnce(services)
  const folder = await makeJobFolder(services.config)
  try {
    const files = await unpackInto(createReadStream(task.archive), join(folder, 'package'))
    const sdk = await sdkFor(await usesFlutter(join(folder, 'package')))
    const packages = await readablePackages(services, task.versionId)
    const grant = { packages, isPublicOnly: !task.isPrivate, lifeMs: (task.seconds + 60) * 1000 }
    return await withJobToken(services, grant, async (token) => {
      const redact = redactPaths({ folder, sdk, token })
      const invoked = await prepare(services.config, { folder, sdk, token, seconds: task.seconds })
      const outcome = await runPana(services, invoked, { ...task, folder, onLine: (line) => task.onLine?.(logLine(redact(line))) })
      const log = outcome.lines.map((line) => logLine(redact(line)))
      // A result from an incomplete SDK is not a valid result for the package.
      if (!existsSync(sdk.mark)) throw new PanaFailed('The SDK was removed or rebuilt while pana used it.', log)
      const summary = summaryOf(outcome, redact, log, task.seconds)
      const report = toReport(summary, { isPrivate: task.isPrivate, sizes: sizesOf(files) })
      return { report, log, usage: outcome.usage, ...(await packDocs(invoked.docs, task)) }
    })
  } finally {
    await removeFolder(folder)
  }
}

async function warnOnce(services: Services): Promise<void> {
  const { log, state } = services
  if (state.isSandboxChecked) return
  state.isSandboxChecked = true
  const warning = await sandboxWarning(services)
  if (warning !== null) log.warning(warning)
}

/** Returns whether the pub client would treat the package as a Flutter package. */
async function usesFlutter(folder: string): Promise<boolean> {
  const { environment, dependencies } = describePubspec(readYaml(await readFile(join(folder, manifestName), 'utf8'), manifestName))
  return environment.some(({ sdk }) => sdk === 'flutter') || dependencies.some(({ sdk }) => sdk === 'flutter')
}

type Running = Pick<PanaTask, 'seconds' | 'limits' | 'signal'> & Required<Pick<Job, 'folder' | 'onLine'>>

const runPana = (
  services: Services,
  { command, env, readable, origins: network }: Awaited<ReturnType<typeof prepare>>,
  { folder, seconds, limits, signal, onLine }: Running,
) =>
  run(services, {
    folder,
    command,
    env,
    readable,
    network,
    limits: {
      memoryBytes: services.config.SCORING_MEMORY_BYTES,
      outputBytes: 2 * reportBytes,
      cpuSeconds: 2 * seconds,
      ...limits,
      seconds,
    },
    lines: logLines,
    stdoutBytes: reportBytes,
    signal: AbortSignal.any([services.stopping.signal, ...(signal ? [signal] : [])]),
    onLine,
  })

function summaryOf({ end, code, stdout }: Outcome, redact: (text: string) => string, log: string[], seconds: number): Summary {
  if (end === 'aborted') throw new PanaFailed('The analysis was cancelled.', log)
  if (end !== 'exited') throw new PanaOverLimit(overLimit[end](seconds), log)
  const summary = readSummary(redact(stdout.toString('utf8')))
  if (summary === null && log.some((line) => outOfMemory.test(line))) throw new PanaOverLimit(overLimit.memory(seconds), log)
  if (summary === null) throw new PanaFailed(`pana exited with code ${code ?? 'none'} without a report: ${log.at(-1) ?? 'no output'}`, log)
  const fault = environmentFault(summary, log)
  if (fault) throw fault
  return summary
}

const overLimit: Record<Exclude<Outcome['end'], 'exited' | 'aborted'>, (seconds: number) => string> = {
  timeout: (seconds) => `pana exceeded the time limit of ${seconds} seconds.`,
  output: () => 'pana exceeded the output limit.',
  memory: () => 'pana exceeded the memory limit.',
  processes: () => 'pana exceeded the process limit.',
  disk: () => 'pana exceeded the disk limit.',
}

/** Dart's output when memory allocation fails. */
const outOfMemory = /\bOut of memory\b|\bExhausted heap space\b/

/** Packs the documentation from the job's folder. A failure is reported but does not fail the analysis. */
async function packDocs(from: string, { name, version, docs }: PanaTask): Promise<Documentation> {
  if (docs === null) return { docs: null, docsFailure: null }
  const file = join(docs.folder, 'dartdoc.zip')
  try {
    await removeSpecialFiles(from)
    await importDartdoc(from, { name, version }, file)
    return { docs: file, docsFailure: null }
  } catch (error) {
    return { docs: null, docsFailure: error instanceof Error ? error.message : String(error) }
  }
}

/** Network errors in the pub client's output. Source: lib/src/http.dart and lib/src/exceptions.dart of pub. */
const unreachable =
  /^.*(?:Got socket error|Failed host lookup|Got TLS error|Could not resolve URL|Connection (?:refused|timed out|closed before)).*$/m

/** The version solver's message for a Flutter package when the SDK lacks Flutter. */
const needsFlutter = /(?:requires the Flutter SDK|depends on [\w ]+ from sdk which doesn't exist \(the Flutter SDK is not available\))/

/** Returns an error if the report grants no points because of the environment, such as dependencies that cannot be fetched, or null. */
function environmentFault({ report, errorMessage }: Summary, log: string[]): PanaFailed | null {
  if (!report) return new PanaFailed(errorMessage ?? 'pana returned a report without sections.', log)
  const analysis = report.sections.find(({ id }) => id === 'analysis')
  if (!analysis || analysis.grantedPoints > 0) return null
  if (needsFlutter.test(analysis.summary))
    return new AnalysisNeedsFlutter('A dependency of the package needs Flutter. Install a Flutter SDK to analyze it with pana.', log)
  const message = unreachable.exec(analysis.summary)?.[0]
  if (message === undefined) return null
  return new PanaFailed(
    `The package's dependencies could not be fetched: ${message.trim()} Check that the server can reach its own URL and pub.dev.`,
    log,
  )
}
