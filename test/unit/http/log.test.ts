import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const server = fileURLToPath(new URL('../../../server/', import.meta.url))

it('loses no line that is being written when the process ends', async () => {
  // The one thread that writes is busy when lines were gathered for long enough: the line waits for it when the process is about to end.
  const program = `
    import { pbkdf2 } from 'node:crypto'
    import { openLog } from '${server}http/log.ts'
    import { endProcess } from '${server}stop.ts'
    const log = openLog('info')
    log.announce('the last line')
    setTimeout(() => pbkdf2('a', 'b', 3e5, 64, 'sha512', () => {}), 150)
    setTimeout(async () => {
      await log.flush()
      endProcess()
    }, 250)
  `
  const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: '1' }
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program], { env })
  expect(stdout).toBe('the last line\n')
})
