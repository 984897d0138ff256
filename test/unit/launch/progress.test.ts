import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { root } from '../../support/sources.ts'

const address = (name: string) => pathToFileURL(join(root, 'server/platform/launch', name)).href

/** Runs a program as a step, and returns its result and the progress output. */
function step(program: string, ...args: string[]) {
  const code = `
    const { showStep } = await import('${address('progress.mjs')}')
    const { runQuietly } = await import('${address('process.mjs')}')
    console.log(JSON.stringify(await showStep('Building', () => runQuietly(...${JSON.stringify([program, args])}))))`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], { encoding: 'utf8' })
  return { given: JSON.parse(stdout || 'null') as unknown, said: stderr }
}

it.each([
  ['succeeds', ['sh', '-c', 'echo fine'], { code: 0, output: 'fine\n' }, /^Building\nBuilding · done in \d+\.\d s\n$/],
  ['fails', ['sh', '-c', 'echo bad; exit 3'], { code: 3, output: 'bad\n' }, /^Building\nBuilding · failed\n$/],
  [
    'cannot be started',
    ['no-such-program'],
    { code: 127, output: expect.stringMatching(/^Cannot start no-such-program: /) },
    /^Building\nBuilding · failed\n$/,
  ],
])('prints a line for a step that %s', (_what, [program = '', ...args], given, said) => {
  expect(step(program, ...args)).toEqual({ given, said: expect.stringMatching(said) })
})
