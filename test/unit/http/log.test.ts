import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'

const run = promisify(execFile)
const server = fileURLToPath(new URL('../../../server/', import.meta.url))

it('writes pending lines before the process exits', async () => {
  // The only writing thread is busy when the buffered line is due, so the line is still pending when the process is about to exit.
  // It must be free within the second that a flush waits, also on a busy machine.
  const program = `
    import { pbkdf2 } from 'node:crypto'
    import { endProcess, openLog } from '${server}platform/http/log.ts'
    const log = openLog('info')
    log.announce('the last line')
    setTimeout(() => pbkdf2('a', 'b', 1.2e5, 64, 'sha512', () => {}), 190)
    setTimeout(async () => {
      await log.flush()
      endProcess()
    }, 250)
  `
  const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '1' }
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { env })
  expect(stdout).toBe('the last line\n')
})

it('buffers a bounded amount while the disk is full, and then logs how many lines were lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-log-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'log')
  // Simulates a full disk until `isFull` is false.
  const program = `
    import fs from 'node:fs'
    import { syncBuiltinESMExports } from 'node:module'
    const { write } = fs
    let isFull = true
    fs.write = (...args) => isFull ? setImmediate(args.at(-1), Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })) : write(...args)
    syncBuiltinESMExports()
    const { openLog } = await import('${server}platform/http/log.ts')
    const log = openLog('info')
    for (let line = 0; line < 10; line++) {
      for (let part = 0; part < 1000; part++) log.info('x'.repeat(1000))
      await log.flush()
    }
    isFull = false
    log.info('there is space')
    await log.flush()
    log.info('and again')
    await log.flush()
  `
  const out = openSync(path, 'w')
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: ['ignore', out, 'pipe'] })
  let errors = ''
  child.stderr?.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  expect({ code, errors }).toEqual({ code: 0, errors: expect.stringMatching(/^Cannot write the log to stdout \(ENOSPC: .*\n$/) })
  const written = readFileSync(path, 'utf8')
  expect(written.length).toBeLessThan(4.2 * 1024 * 1024)
  const [, lost] = / WARNING (\d+) log lines were lost because stdout could not be written\n/.exec(written) ?? []
  expect(written.match(/x\n/g)?.length).toBe(10_000 - Number(lost))
  expect(written).toContain(' and again\n')
})
