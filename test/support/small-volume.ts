import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/**
 * A volume of so many kilobytes, mounted for this test.
 * @throws Error without the right to mount: a full disk is nothing to pretend.
 */
export function smallVolume(kilobytes: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'snug-volume-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'snug-test', folder], { stdio: 'pipe' })
  } catch (error) {
    throw new Error('This test mounts a small tmpfs: run it as root, where mounts are allowed.', { cause: error })
  }
  // Hooks run in reverse order: first this one.
  onTestFinished(() => void execFileSync('umount', ['--lazy', folder]))
  return folder
}
