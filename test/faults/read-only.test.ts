import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Check } from '../../server/operations/checks/doctor/check.ts'
import { runCommand } from '../support/admin.ts'
import { folderForTest, secretForTests, start } from '../support/server-process.ts'
import { smallVolume } from '../support/small-volume.ts'

const settings = { SERVER_URL: 'http://localhost:1', JWT_SECRET: secretForTests }

async function doctor(DATA_DIR: string, more: Record<string, string> = {}): Promise<{ code: number; messages: string[] }> {
  const { code, out } = await runCommand({ ...settings, DATA_DIR, ...more }, 'doctor', '--quick', '--json')
  const { checks } = JSON.parse(out) as { checks: Check[] }
  return { code, messages: checks.filter(({ status }) => status === 'failed').map(({ name, message }) => `${name}: ${message}`) }
}

it('explains that DATA_DIR is mounted read-only, in the doctor and at the start of the server', async () => {
  const volume = smallVolume(2048)
  const folder = join(volume, 'data')
  mkdirSync(folder)
  writeFileSync(join(folder, 'registry.sqlite'), '')
  execFileSync('mount', ['-o', 'remount,ro', volume])
  const { code, messages } = await doctor(folder)
  const said = 'cannot be written to: its file system is mounted read-only. Mount it writable, or choose another path.'
  expect(code).toBe(1)
  expect(messages).toEqual(
    expect.arrayContaining([`folder: DATA_DIR: ${folder} ${said}`, `database: ${join(folder, 'registry.sqlite')} ${said}`]),
  )
  expect(messages.join('\n')).not.toMatch(/EROFS/)
  const server = await start(folder)
  expect(await server.exit).toBe(78)
  expect(server.log()).toContain(said)
})

it('names the read-only file system of the archives and of BACKUP_TO in one line each', async () => {
  const volume = smallVolume(4096)
  const [folder, backups] = [join(volume, 'data'), join(volume, 'backups')]
  const server = await start(folder)
  server.process.kill('SIGTERM')
  await server.exit
  mkdirSync(backups)
  execFileSync('mount', ['-o', 'remount,ro', volume])
  const said = 'cannot be written to: its file system is mounted read-only.'
  for (const place of [backups, join(volume, 'new', 'backups')]) {
    const { messages } = await doctor(folder, { BACKUP_TO: place })
    const about = (name: string) => messages.filter((message) => message.startsWith(`${name}: `))
    expect(about('store')).toEqual([expect.stringContaining(`BLOB_PATH: ${join(folder, 'blobs')} ${said}`)])
    expect(about('backups')).toEqual([expect.stringContaining(said)])
    expect(about('folder')).toHaveLength(1)
    expect(messages.join('\n')).not.toMatch(/EROFS|try again later/i)
  }
  expect((await doctor(join(folder, 'other'), { BACKUP_TO: backups })).messages.join('\n')).toContain(said)
})

it('distinguishes a DATA_DIR that does not exist yet, one that is a file and a valid one', async () => {
  const folder = folderForTest()
  const at = async (path: string) => {
    const { out } = await runCommand({ ...settings, DATA_DIR: path }, 'doctor', '--quick', '--json')
    return (JSON.parse(out) as { checks: Check[] }).checks.find(({ name }) => name === 'folder')
  }
  writeFileSync(join(folder, 'file'), '')
  chmodSync(join(folder, 'file'), 0o600)
  expect(await at(folder)).toMatchObject({ status: 'ok' })
  expect(await at(join(folder, 'new'))).toMatchObject({ status: 'warning', message: expect.stringContaining('does not exist yet') })
  expect(await at(join(folder, 'file'))).toMatchObject({
    status: 'failed',
    message: expect.stringMatching(/^DATA_DIR: .* a file already has this name/),
  })
})
