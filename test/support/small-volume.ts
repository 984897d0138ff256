import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * Mounts a tmpfs of this size for the test and returns its path.
 * @throws Error if mounting is not permitted. A full disk cannot be simulated in another way.
 */
export function smallVolume(kilobytes: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-volume-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'snug-test', folder], { stdio: 'pipe' })
  } catch (error) {
    throw new Error('This test mounts a small tmpfs: run it as root, where mounts are allowed.', { cause: error })
  }
  // Hooks run in reverse order, so the volume is unmounted before its folder is removed.
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]))
  return folder
}
