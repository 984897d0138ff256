import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { PanaTask } from '../../server/analysis/pana/analyze.ts'
import { makeJobFolder } from '../../server/platform/sandbox/job-folder.ts'
import { sandboxState } from '../../server/platform/sandbox/capabilities.ts'
import { run, sandboxProblem } from '../../server/platform/sandbox/run.ts'
import { type TestApp, testApp } from '../app.ts'
import { attackFiles, analyzeWithFakePana } from '../support/fake-pana.ts'
import { publish } from '../support/publish.ts'
import { folderForTest, start } from '../support/server-process.ts'
import { root } from '../support/sources.ts'

const [secretOfServer, secretOfOther] = ['environment-of-the-server', 'token-of-another-job']
const sandboxes = [
  ['bubblewrap', { SCORING_SANDBOX: 'bwrap' }],
  ['limits only', {}],
] as const

/**
 * Returns whether the machine does not support the sandbox, for example an unprivileged container. In that case, logs a
 * warning and expects that analyses are refused.
 */
async function isUnusable(app: TestApp): Promise<boolean> {
  const problem = await sandboxProblem(app.services)
  if (problem === null) return false
  console.warn(`Not tested on this machine: the isolation by bubblewrap. ${problem}`)
  await expect(analyzeWithFakePana(app, { files: attackFiles('echo begun') })).rejects.toThrow(problem)
  return true
}

/** Creates secrets and a listener that an attacker would look for. `connections` returns the number of accepted connections. */
async function plantTargets(app: TestApp) {
  const server = spawn('sleep', ['60'], { env: { JWT_SECRET: secretOfServer, PATH: process.env.PATH } })
  onTestFinished(() => void server.kill('SIGKILL'))
  await publish(await app.member(), { name: 'another', version: '1.0.0' })
  const other = join(await makeJobFolder(app.config), 'home')
  mkdirSync(other, { mode: 0o700 })
  writeFileSync(join(other, 'token'), secretOfOther, { mode: 0o600 })
  let connections = 0
  const listener = createServer((socket) => void (connections++, socket.destroy())).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  onTestFinished(() => void listener.close())
  const outside = `/tmp/snug-written-${process.pid}`
  onTestFinished(() => rmSync(outside, { force: true }))
  const address = listener.address() as { port: number }
  return { port: address.port, outside, connections: () => connections }
}

const attackScript = (data: string, port: number, outside: string) => `
cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q ${secretOfServer} && echo 'took: environment'
head -c 16 ${data}/registry.sqlite 2>/dev/null | grep -q SQLite && echo 'took: database'
find ${data}/blobs -type f 2>/dev/null | grep -q . && echo 'took: archives'
cat ${data}/jobs/*/home/token 2>/dev/null | grep -q ${secretOfOther} && echo 'took: token'
bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' 2>/dev/null && echo 'took: connection'
for place in ${data}/written ${data}/sdks/dart/sdk/written ${outside} /usr/written /proc/sys/kernel/core_pattern; do
  echo x 2>/dev/null >"$place" && echo "took: $place"
done
echo looked
`

describe.each(sandboxes)('malicious code that runs during an analysis (%s)', (_name, env) => {
  it('accesses only the data that its isolation permits', async () => {
    await using app = await testApp({ env })
    if (await isUnusable(app)) return
    const { port, outside, connections } = await plantTargets(app)
    const data = app.config.DATA_DIR
    const { log, report } = await analyzeWithFakePana(app, { files: attackFiles(attackScript(data, port, outside)) })
    expect(log).toContain('looked')
    expect(report.engine.name).toBe('pana')
    const taken = log.filter((line) => line.startsWith('took: ')).map((line) => line.slice(6))
    if ('SCORING_SANDBOX' in env) {
      expect({ taken, connections: connections() }).toEqual({ taken: [], connections: 0 })
      expect([outside, join(data, 'written')].filter((path) => existsSync(path))).toEqual([])
      return
    }
    // Without a sandbox, isolation depends on whether the server can give jobs their own account and process namespace.
    const { root, namespaces } = await sandboxState(app.services).capabilities
    // If the server runs as root and supports namespaces, the job has a read-only /tmp.
    const open = ['connection', ...(root && namespaces ? [] : [outside])]
    const ofAccount = root ? [] : ['database', 'archives', 'token', expect.stringMatching(/written$/), expect.stringMatching(/written$/)]
    const expected = [...open, ...ofAccount, ...(root || namespaces ? [] : ['environment'])]
    expect(taken.toSorted()).toEqual(expect.arrayContaining(expected))
    expect(taken.length).toBe(expected.length)
  })

  it.each<[string, string, Partial<PanaTask>, RegExp | null]>([
    // The loop needs no process. A command would fail at the kernel's limit, and the script would end by itself.
    ['a fork bomb', 'bomb() { bomb | bomb & }; bomb; while :; do :; done', { seconds: 2 }, /process limit|limit of 2 seconds/],
    ['an endless loop', 'while :; do :; done', { seconds: 1 }, /limit of 1 seconds/],
    ['10 GB of output', 'head -c 10G /dev/zero', {}, /output limit/],
    [
      '10 GB of files',
      'for n in 1 2 3 4 5 6 7 8 9; do head -c 1G /dev/zero >$n; done; sleep 60',
      { limits: { fileBytes: 4e6, folderBytes: 16e6 } },
      /disk limit/,
    ],
    ['4 GB of memory', 'for n in 1 2 3 4; do head -c 1G /dev/zero | tail & done; wait', { limits: { memoryBytes: 192e6 } }, null],
    ['a process that hides in its own session', '(setsid sh -c "while :; do :; done" &); sleep 0.1', {}, null],
  ])('is stopped at its limit while the server keeps responding: %s', async (_what, script, options, message) => {
    await using app = await testApp({ env })
    if (await isUnusable(app)) return
    const url = await app.listen()
    const over = new AbortController()
    const answers = (async () => {
      let slowest = 0
      while (!over.signal.aborted) {
        const asked = performance.now()
        expect((await fetch(`${url}/livez`)).status).toBe(200)
        slowest = Math.max(slowest, performance.now() - asked)
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return slowest
    })()
    const outcome = await analyzeWithFakePana(app, { files: attackFiles(script) }, options).catch((error: unknown) => error)
    over.abort()
    // The server shares the CPU with the job but never waits for it.
    expect(await answers).toBeLessThan(2000)
    if (message) expect(String(outcome)).toMatch(message)
    expect(readdirSync(join(app.config.DATA_DIR, 'jobs')).filter((name) => !name.endsWith('.lock'))).toEqual([])
    expect(processesOf(app.config.DATA_DIR)).toEqual([])
  })
})

it('logs at the start that the configured sandbox does not work', async () => {
  const server = await start(folderForTest(), { SCORING_SANDBOX: 'no-such-sandbox --shut' })
  await expect.poll(server.log).toMatch(/SCORING_SANDBOX is set, and it does not work: .*no-such-sandbox/)
})

it.each(sandboxes)('stops running jobs when the server is killed (%s)', async (_name, env) => {
  await using app = await testApp({ env })
  if (await isUnusable(app)) return
  const folder = await makeJobFolder(app.config)
  const services = JSON.stringify({ config: { DATA_DIR: app.config.DATA_DIR, ...env }, state: {} })
  const job = JSON.stringify({ folder, command: ['sh', '-c', 'echo begun >begun; sleep 60'] })
  const server = `import { run } from ${JSON.stringify(pathToFileURL(join(root, 'server/platform/sandbox/run.ts')).href)}; await run(${services}, ${job})`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', server], { stdio: 'inherit' })
  await expect.poll(() => existsSync(join(folder, 'begun'))).toBe(true)
  expect(processesOf(folder)).not.toEqual([])
  child.kill('SIGKILL')
  await expect.poll(() => processesOf(folder)).toEqual([])
})

it('allows a job in bubblewrap to connect only to the servers it needs, by HTTP and through a tunnel', async () => {
  await using app = await testApp({ env: sandboxes[0][1] })
  if (await isUnusable(app)) return
  const url = await app.listen()
  const { port, connections } = await plantTargets(app)
  const { host } = new URL(url)
  const script = `
    const http = await import('node:http')
    const ask = (method, path) => new Promise((resolve) => {
      const request = http.request({ host: '127.0.0.1', port: 3128, method, path })
      request.on('response', (answer) => resolve(answer.statusCode)).on('connect', (answer) => resolve(answer.statusCode)).end()
    })
    console.log(await ask('GET', '${url}/livez'), await ask('CONNECT', '${host}'))
    console.log(await ask('GET', 'http://127.0.0.1:${port}/'), await ask('CONNECT', '127.0.0.1:${port}'), await ask('GET', '/livez'))
    process.exit()`
  const folder = await makeJobFolder(app.config)
  const command = [process.execPath, '--input-type=module', '--eval', script]
  const { lines } = await run(app.services, { folder, command, network: [url] })
  expect(lines).toEqual(['200 200', '403 403 403'])
  expect(connections()).toBe(0)
})

/** Lists the processes whose environment names a job folder below the given folder. */
function processesOf(folder: string): string[] {
  return readdirSync('/proc').filter((id) => {
    try {
      return /^\d+$/.test(id) && readFileSync(`/proc/${id}/environ`, 'utf8').includes(`SNUG_JOB=${folder}`)
    } catch {
      return false
    }
  })
}
