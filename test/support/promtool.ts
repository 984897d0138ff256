import { spawnSync } from 'node:child_process'

/** Runs promtool of Prometheus with `input` on stdin. Returns its output and exit code. */
export function promtool(args: string[], input = ''): { status: number | null; output: string } {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', input })
  if (error) throw new Error('Install it to run this test: apt-get install prometheus', { cause: error })
  return { status, output: `${stdout}${stderr}` }
}
