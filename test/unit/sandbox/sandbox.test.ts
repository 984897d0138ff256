import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { findFreeAccount, jobAccounts, jobGroup } from '../../../server/platform/sandbox/account.ts'
import { openProxy, removeStaleProxies } from '../../../server/platform/sandbox/proxy.ts'
import { makeJobFolder, removeFolder, sweepJobFolders } from '../../../server/platform/sandbox/job-folder.ts'
import { type Job, run, sandboxProblem } from '../../../server/platform/sandbox/run.ts'

const megabyte = 1024 * 1024

function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-sandbox-'))
  onTestFinished(() => removeFolder(folder))
  return folder
}

/** Runs a shell script as a job in a new folder. */
function script(text: string, options: Partial<Job> = {}, DATA_DIR = dataFolder()) {
  const folder = options.folder ?? mkdtempSync(join(DATA_DIR, 'job-'))
  return run({ config: { DATA_DIR }, state: {} }, { folder, command: ['sh', '-c', text], ...options })
}

describe('job', () => {
  it('has its own folder and environment instead of those of the server', async () => {
    vi.stubEnv('JWT_SECRET', 'of the server')
    onTestFinished(() => void vi.unstubAllEnvs())
    const { end, code, lines } = await script('env; pwd; touch made && ls; exit 3', { env: { GIVEN: 'yes' } })
    expect({ end, code }).toEqual({ end: 'exited', code: 3 })
    expect(lines).toContain('GIVEN=yes')
    expect(lines.at(-1)).toBe('made')
    expect(lines.join()).not.toContain('of the server')
  })

  it('returns the beginning of its stdout separately from its lines on stderr', async () => {
    const { lines, stdout } = await script('seq 1000; echo said >&2', { stdoutBytes: 5 })
    expect(stdout.toString()).toBe('1\n2\n3')
    expect(lines).toEqual(['said'])
  })

  it('returns its last lines without control characters', async () => {
    const heard: string[] = []
    const { lines } = await script(`seq 5; printf '\\033[2Jred\\tone' >&2`, { lines: 2, onLine: (line) => heard.push(line) })
    expect(lines).toEqual(['5', '\u{FFFD}[2Jred\tone'])
    expect(heard).toContain('5')
  })

  it('may create folders in its TMPDIR whose paths exceed the system limit', async () => {
    expect(await script(`cd "$TMPDIR" && ${deep}`)).toMatchObject({ end: 'exited', code: 0 })
  })

  it('exits with 127 if it cannot be started', async () => {
    expect(await script('', { command: ['/no/such/program'] })).toMatchObject({ end: 'exited', code: 127 })
  })
})

/** Creates nested folders until their path exceeds the system limit. */
const deep = 'name=$(printf %0200d 1); for i in $(seq 25); do mkdir $name && cd -P $name; done'

describe('limits of a job', () => {
  it.each<[string, string, Partial<Job>, object]>([
    ['the time limit', 'sleep 60', { limits: { seconds: 0.3 } }, { end: 'timeout' }],
    ['the CPU time limit', 'while :; do :; done', { limits: { cpuSeconds: 1 } }, { end: 'exited', code: 137 }],
    ['the output limit', 'yes', { limits: { outputBytes: 4 * megabyte } }, { end: 'output' }],
    ['the memory limit of a process', 'head -c 4G /dev/zero | tail', { limits: { memoryBytes: 64 * megabyte } }, {}],
    [
      'the memory limit of all its processes',
      'for i in 1 2 3; do (head -c 30M /dev/zero; sleep 60) | tail & done; wait',
      { limits: { memoryBytes: 64 * megabyte } },
      { end: 'memory' },
    ],
    ['the disk limit', 'while :; do head -c 1M /dev/zero >>f$((n+=1)); done', { limits: { folderBytes: megabyte } }, { end: 'disk' }],
    ['the disk limit with files that cannot be counted', `${deep}; sleep 60`, {}, { end: 'disk' }],
  ])('stops a job that exceeds %s', async (_limit, text, options, outcome) => {
    const before = performance.now()
    expect(await script(text, { ...options, limits: { seconds: 20, ...options.limits } })).toMatchObject(outcome)
    expect(performance.now() - before).toBeLessThan(15_000)
  })

  it('truncates files at the maximum file size', async () => {
    const folder = dataFolder()
    await script('head -c 50M /dev/zero >large', { folder, limits: { fileBytes: megabyte } }, folder)
    expect(readFileSync(join(folder, 'large')).length).toBe(megabyte)
  })

  it('stops a job when it is aborted, and does not start an aborted job', async () => {
    expect(await script('sleep 60', { signal: AbortSignal.timeout(200) })).toMatchObject({ end: 'aborted' })
    expect(await script('touch begun', { signal: AbortSignal.abort() })).toMatchObject({ end: 'aborted', lines: [] })
  })

  it('stops all processes of a job and removes its temporary files', async () => {
    const folder = dataFolder()
    const beat = join(folder, 'beat')
    const text = `(setsid sh -c 'while :; do date +%N >${beat}; sleep 0.02; done' &) ; while [ ! -s ${beat} ]; do sleep 0.02; done`
    expect(await script(text, { folder }, folder)).toMatchObject({ end: 'exited', code: 0 })
    const last = readFileSync(beat, 'utf8')
    await setTimeout(100)
    expect(readFileSync(beat, 'utf8')).toBe(last)
    expect(existsSync(join(folder, '.tmp'))).toBe(false)
  })
})

it.each(['/tmp', '/var/tmp', '/dev/shm'])('leaves no files in %s if the server runs as root, but has a temporary folder', async (place) => {
  const isRoot = process.getuid?.() === 0
  const left = join(place, `snug-left-${process.pid}`)
  onTestFinished(() => rmSync(left, { force: true }))
  const text = `head -c 2M /dev/zero >${left} && echo written; head -c 2M /dev/zero >"$TMPDIR/own" && head -c 2M /dev/zero >own && echo kept`
  const folder = dataFolder()
  const { end, code, lines } = await script(text, { folder }, folder)
  expect({ end, code, last: lines.at(-1) }).toEqual({ end: 'exited', code: 0, last: 'kept' })
  expect(existsSync(left)).toBe(!isRoot)
  expect(existsSync(join(folder, 'own'))).toBe(true)
})

describe('SCORING_SANDBOX', () => {
  it('prevents jobs and suggests a solution if the sandbox does not work', async () => {
    const DATA_DIR = dataFolder()
    const services = { config: { DATA_DIR, SCORING_SANDBOX: 'no-such-sandbox' }, state: {} }
    const problem = await sandboxProblem(services)
    expect(problem).toMatch(/^SCORING_SANDBOX is set, and it does not work: .*no-such-sandbox.*unset SCORING_SANDBOX/)
    const job = { folder: DATA_DIR, command: ['touch', join(DATA_DIR, 'begun')] }
    await expect(run(services, job)).rejects.toThrow(problem ?? '')
    expect(existsSync(join(DATA_DIR, 'begun'))).toBe(false)
  })

  it('may be any program that runs a command', async () => {
    const DATA_DIR = dataFolder()
    writeFileSync(join(DATA_DIR, 'sandbox'), '#!/bin/sh\necho "in $1"; shift; exec "$@"\n', { mode: 0o755 })
    const services = { config: { DATA_DIR, SCORING_SANDBOX: `${join(DATA_DIR, 'sandbox')} {folder}` }, state: {} }
    const folder = mkdtempSync(join(DATA_DIR, 'job-'))
    expect((await run(services, { folder, command: ['echo', 'ran'] })).lines).toEqual([`in ${folder}`, 'ran'])
  })
})

describe('job folders', () => {
  it('removes folders and processes of stopped servers at the next start', async () => {
    const config = { DATA_DIR: dataFolder() }
    const [own, [killed, left], [other, live]] = [await makeJobFolder(config), await serverWithJob(config), await serverWithJob(config)]
    const [elsewhere, earlier] = [`deadbeef.${randomUUID()}.abcdef`, 'deadbeef.1.1.abcdef'].map((name) => join(dirname(own), name))
    for (const folder of [left, elsewhere, earlier]) {
      mkdirSync(folder ?? '', { recursive: true }) // the mode would apply to this folder as well
      mkdirSync(join(folder ?? '', 'locked'), { mode: 0o500 })
    }
    const child = spawn('sleep', ['60'], { env: { SNUG_JOB: left, PATH: process.env.PATH } })
    const exit = once(child, 'exit')
    killed.kill('SIGKILL')
    await once(killed, 'exit')
    await sweepJobFolders(config)
    const isThere = [own, left, live, elsewhere, earlier].map((folder) => existsSync(folder ?? ''))
    expect(isThere).toEqual([true, false, true, true, true])
    expect(await exit).toEqual([null, 'SIGKILL'])
    expect(readdirSync(dirname(own)).filter((name) => name.endsWith('.lock'))).toHaveLength(2)
    // The running server keeps its lock during the sweep.
    await sweepJobFolders(config)
    other.kill('SIGKILL')
    await once(other, 'exit')
    await sweepJobFolders(config)
    expect([own, live].map((folder) => existsSync(folder))).toEqual([true, false])
  })

  it('removes the proxy sockets of killed servers, but not of running ones', async () => {
    const mine = await openProxy([])
    const source = `import { openProxy } from './server/platform/sandbox/proxy.ts'; console.log((await openProxy([])).path)`
    const [gate, path] = await programThatPrints(source)
    gate.kill('SIGKILL')
    await once(gate, 'exit')
    await removeStaleProxies()
    expect([mine.path, path].map((one) => existsSync(dirname(one)))).toEqual([true, false])
    await mine.close()
  })
})

it('does not assign accounts that jobs of other servers use on this machine or disk', async () => {
  if (process.getuid?.() !== 0) return expect(jobAccounts).toBe(399) // only root can assign accounts
  const place = dataFolder()
  const folder = mkdtempSync(join(place, 'job-'))
  const accounts = Array.from({ length: jobAccounts }, (_, index) => jobGroup + 1 + index)
  for (const account of accounts.slice(2)) {
    mkdirSync(join(place, String(account)))
    chownSync(join(place, String(account)), account, jobGroup)
  }
  const [atWork = 0, free] = accounts
  const job = spawn('sleep', ['60'], { uid: atWork, gid: jobGroup })
  onTestFinished(() => void job.kill())
  await once(job, 'spawn')
  expect(await findFreeAccount(folder)).toBe(free)
  chownSync(folder, free ?? 0, jobGroup)
  await expect(findFreeAccount(folder)).rejects.toThrow('in use')
})

/** Starts a process and returns it with its first output. The process runs until it is killed. */
async function programThatPrints(source: string): Promise<[ChildProcess, string]> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${source}; setInterval(() => {}, 1000)`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  return [child, String((await once(child.stdout, 'data'))[0]).trim()]
}

/** Starts another server process with a job folder. */
const serverWithJob = (config: { DATA_DIR: string }) =>
  programThatPrints(
    `import { makeJobFolder } from './server/platform/sandbox/job-folder.ts'; console.log(await makeJobFolder(${JSON.stringify(config)}))`,
  )
