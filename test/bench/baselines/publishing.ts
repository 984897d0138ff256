import SqliteDatabase from 'better-sqlite3'
import { hash, randomUUID } from 'node:crypto'
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { parse } from 'yaml'

// Server that implements only the three publishing requests of pub's protocol and writes to disk what must be durable before the last response. It
// has no authentication, validation or logging. Its only thread waits for every fsync, which a registry can avoid.
const [, , folder = '', port = ''] = process.argv
const url = `http://127.0.0.1:${port}`
mkdirSync(join(folder, 'staging'), { recursive: true })
const database = new SqliteDatabase(join(folder, 'registry.sqlite'))
database.pragma('journal_mode = wal')
database.pragma('synchronous = full')
database.exec(`
  create table uploads (id text primary key, user_id text, sha256 text, message text);
  create index open_uploads on uploads (user_id) where message is null;
  create table versions (id text primary key, package text, version text, sha256 text, pubspec text, unique (package, version));
  create table documents (version_id text, kind text, content text, primary key (version_id, kind)) without rowid;
  create table dependencies (version_id text, name text, version_constraint text);
  create index dependents on dependencies (name);
  create table audit_entries (id text primary key, at integer, package text, summary text);
  create index audit_of_package on audit_entries (package, at);
  create virtual table search using fts5(package, words);`)

const begin = database.prepare('insert into uploads (id, user_id) values (?, ?)')
const receive = database.prepare('update uploads set sha256 = ? where id = ?')
const finish = database.prepare('update uploads set message = ? where id = ?')
const addVersion = database.prepare('insert into versions values (?, ?, ?, ?, ?)')
const addDocument = database.prepare('insert into documents values (?, ?, ?)')
const addDependency = database.prepare('insert into dependencies values (?, ?, ?)')
const addEntry = database.prepare('insert into audit_entries values (?, ?, ?, ?)')
const entryOf = database.prepare<[string], { rowid: number }>('select rowid from search where package = ?')
const index = database.prepare('insert or replace into search (rowid, package, words) values (?, ?, ?)')

/** Received archives by upload id. */
const sent = new Map<string, Buffer>()

const server = createServer((request, response) => {
  const [, place, id = ''] = (request.url ?? '').split('/')
  if (place === 'upload') void receiveUpload(id, request).then(() => response.writeHead(302, { location: `${url}/finish/${id}` }).end())
  else answer(response, place === 'finish' ? { success: { message: publish(id) } } : { url: `${url}/upload/${beginUpload()}`, fields: {} })
})
server.listen(Number(port), '127.0.0.1')

function answer(response: ServerResponse, body: object): void {
  const bytes = Buffer.from(JSON.stringify(body))
  response.writeHead(200, { 'content-type': 'application/vnd.pub.v2+json; charset=utf-8', 'content-length': bytes.length }).end(bytes)
}

function beginUpload(): string {
  const id = randomUUID()
  // Started uploads need not survive a power failure, because clients start them again.
  database.pragma('synchronous = normal')
  begin.run(id, 'publisher')
  return id
}

async function receiveUpload(id: string, request: IncomingMessage): Promise<void> {
  const form = await buffer(request)
  const archive = form.subarray(form.indexOf('\r\n\r\n', form.indexOf('filename=')) + 4, form.lastIndexOf('\r\n--'))
  const file = openSync(join(folder, 'staging', id), 'wx')
  writeSync(file, archive)
  fsyncSync(file)
  closeSync(file)
  receive.run(hash('sha256', archive), id)
  sent.set(id, archive)
}

function publish(id: string): string {
  const archive = sent.get(id) ?? Buffer.alloc(0)
  sent.delete(id)
  const [sha256, files] = [hash('sha256', archive), filesOf(gunzipSync(archive))]
  const pubspec = parse(files['pubspec.yaml'] ?? '') as { name: string; version: string; dependencies: Record<string, string> }
  const path = join(folder, sha256.slice(0, 2), sha256)
  mkdirSync(dirname(path), { recursive: true })
  renameSync(join(folder, 'staging', id), path)
  for (const directory of [dirname(path), folder]) syncDirectory(directory)
  database.pragma('synchronous = full')
  database.exec('begin immediate')
  const { name, version } = pubspec
  const [versionId, message] = [randomUUID(), `Published ${name} ${version}`]
  finish.run(message, id)
  addVersion.run(versionId, name, version, sha256, JSON.stringify(pubspec))
  for (const [kind, text] of Object.entries(files)) addDocument.run(versionId, kind, text)
  for (const [dependency, constraint] of Object.entries(pubspec.dependencies)) addDependency.run(versionId, dependency, constraint)
  addEntry.run(randomUUID(), Date.now(), name, message)
  index.run(entryOf.get(name)?.rowid ?? null, name, files['README.md'] ?? '')
  database.exec('commit')
  return message
}

/** Returns the text files of a tar archive. */
function filesOf(tar: Buffer): Record<string, string> {
  const files: Record<string, string> = {}
  for (let at = 0; at + 512 <= tar.length && tar[at] !== 0;) {
    const name = tar.toString('latin1', at, tar.indexOf(0, at))
    const size = parseInt(tar.toString('latin1', at + 124, at + 135), 8)
    if (!name.endsWith('.bin')) files[name] = tar.toString('utf8', at + 512, at + 512 + size)
    at += 512 + Math.ceil(size / 512) * 512
  }
  return files
}

function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  fsyncSync(directory)
  closeSync(directory)
}
