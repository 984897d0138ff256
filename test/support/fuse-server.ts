// A FUSE file system that stores everything in the folder given as the argument. The device is file descriptor 3. Handles one request at a time and
// implements what a store of archives needs. Structures: /usr/include/linux/fuse.h, protocol 7.31.
import * as fs from 'node:fs'
import { join } from 'node:path'

const [, , root = ''] = process.argv
const device = 3
/** Paths of the nodes that the kernel knows. The root is node 1. */
const paths = new Map([[1n, root]])
const nodes = new Map([[root, 1n]])
let lastNode = 1n

const noReply = Symbol('no reply')
type Reply = Buffer | typeof noReply
type Request = { node: bigint; body: Buffer; path: string }

const nameIn = (body: Buffer, at = 0) => body.subarray(at, body.indexOf(0, at)).toString()
const childOf = ({ path, body }: Request, at = 0) => join(path, nameIn(body, at))

function nodeOf(path: string): bigint {
  const known = nodes.get(path)
  if (known !== undefined) return known
  nodes.set(path, ++lastNode)
  paths.set(lastNode, path)
  return lastNode
}

function attributes(facts: fs.BigIntStats): Buffer {
  const bytes = Buffer.alloc(88)
  const long = [facts.ino, facts.size, facts.blocks, ...[facts.atimeNs, facts.mtimeNs, facts.ctimeNs].map((time) => time / 10n ** 9n)]
  long.forEach((value, index) => bytes.writeBigUInt64LE(value, index * 8))
  ;[facts.atimeNs, facts.mtimeNs, facts.ctimeNs].forEach((time, index) => bytes.writeUInt32LE(Number(time % 10n ** 9n), 48 + index * 4))
  ;[facts.mode, facts.nlink, facts.uid, facts.gid, 0n, 4096n].forEach((value, index) => bytes.writeUInt32LE(Number(value), 60 + index * 4))
  return bytes
}

const statOf = (path: string) => attributes(fs.lstatSync(path, { bigint: true }))
/** Attributes that the kernel must not cache, so that every look at a file asks this process. */
const uncached = (facts: Buffer) => Buffer.concat([Buffer.alloc(16), facts])

function entry(path: string): Buffer {
  const facts = statOf(path)
  const head = Buffer.alloc(40)
  head.writeBigUInt64LE(nodeOf(path), 0)
  return Buffer.concat([head, facts])
}

function opened(fd: number): Buffer {
  const bytes = Buffer.alloc(16)
  bytes.writeBigUInt64LE(BigInt(fd), 0)
  bytes.writeUInt32LE(1, 8) // FOPEN_DIRECT_IO: no page cache
  return bytes
}

const handleOf = (body: Buffer) => Number(body.readBigUInt64LE(0))

function setAttributes({ path, body }: Request): Buffer {
  const valid = body.readUInt32LE(0)
  if (valid & 1) fs.chmodSync(path, body.readUInt32LE(68) & 0o7777)
  if (valid & 8) fs.truncateSync(path, Number(body.readBigUInt64LE(16)))
  if (valid & 0x1b0) {
    const facts = fs.statSync(path)
    const time = (set: number, now: number, at: number, old: Date) =>
      valid & now ? new Date() : valid & set ? Number(body.readBigUInt64LE(at)) : old
    fs.utimesSync(path, time(16, 128, 32, facts.atime), time(32, 256, 40, facts.mtime))
  }
  return uncached(statOf(path))
}

function rename(from: string, to: string): Buffer {
  fs.renameSync(from, to)
  for (const [node, path] of paths) {
    if (path !== from && !path.startsWith(`${from}/`)) continue
    nodes.delete(path)
    paths.set(node, to + path.slice(from.length))
    nodes.set(to + path.slice(from.length), node)
  }
  return Buffer.alloc(0)
}

function list({ path, body }: Request): Buffer {
  const offset = Number(body.readBigUInt64LE(8))
  const names = ['.', '..', ...fs.readdirSync(path)]
  const entries: Buffer[] = []
  let space = body.readUInt32LE(16)
  for (let index = offset; index < names.length; index++) {
    const name = Buffer.from(names[index] ?? '')
    const bytes = Buffer.alloc(Math.ceil((24 + name.length) / 8) * 8)
    if ((space -= bytes.length) < 0) break
    bytes.writeBigUInt64LE(1n, 0)
    bytes.writeBigUInt64LE(BigInt(index + 1), 8)
    bytes.writeUInt32LE(name.length, 16)
    name.copy(bytes, 24)
    entries.push(bytes)
  }
  return Buffer.concat(entries)
}

function remove(path: string, by: (path: string) => void): Buffer {
  by(path)
  const node = nodes.get(path)
  nodes.delete(path)
  if (node !== undefined) paths.delete(node)
  return Buffer.alloc(0)
}

function freeSpace(): Buffer {
  const bytes = Buffer.alloc(80)
  const facts = fs.statfsSync(root)
  ;[facts.blocks, facts.bfree, facts.bavail, facts.files, facts.ffree].forEach((value, at) => bytes.writeBigUInt64LE(BigInt(value), at * 8))
  ;[facts.bsize, 255, facts.bsize].forEach((value, at) => bytes.writeUInt32LE(value, 40 + at * 4))
  return bytes
}

function initialize({ body }: Request): Buffer {
  const bytes = Buffer.alloc(64)
  ;[7, 31, body.readUInt32LE(8), 1 << 5].forEach((value, at) => bytes.writeUInt32LE(value, at * 4)) // FUSE_BIG_WRITES
  bytes.writeUInt32LE(128 * 1024, 20)
  return bytes
}

const read = ({ body }: Request) => {
  const into = Buffer.alloc(body.readUInt32LE(16))
  return into.subarray(0, fs.readSync(handleOf(body), into, 0, into.length, Number(body.readBigUInt64LE(8))))
}

const write = ({ body }: Request) => {
  const size = body.readUInt32LE(16)
  const bytes = Buffer.alloc(8)
  bytes.writeUInt32LE(fs.writeSync(handleOf(body), body, 40, size, Number(body.readBigUInt64LE(8))))
  return bytes
}

const done = (work: void) => work ?? Buffer.alloc(0)
const accessFlags = 0o3 // O_RDONLY, O_WRONLY, O_RDWR

const operations: Record<number, (request: Request) => Reply> = {
  1: (request) => entry(childOf(request)), // lookup
  2: () => noReply, // forget
  3: ({ path }) => uncached(statOf(path)), // getattr
  4: setAttributes,
  9: (request) => (fs.mkdirSync(childOf(request, 8), request.body.readUInt32LE(0) & 0o7777), entry(childOf(request, 8))),
  10: (request) => remove(childOf(request), fs.unlinkSync),
  11: (request) => remove(childOf(request), fs.rmdirSync),
  12: (request) => renameRequest(request, 8),
  13: (request) => linkRequest(request),
  14: ({ path, body }) => opened(fs.openSync(path, body.readUInt32LE(0) & accessFlags)),
  15: read,
  16: write,
  17: freeSpace,
  18: ({ body }) => done(fs.closeSync(handleOf(body))), // release
  20: ({ body }) => done(fs.fsyncSync(handleOf(body))),
  25: () => Buffer.alloc(0), // flush
  26: initialize,
  27: () => Buffer.alloc(16), // opendir
  28: list,
  29: () => Buffer.alloc(0), // releasedir
  30: () => Buffer.alloc(0), // fsyncdir
  35: (request) => {
    const [flags, mode, path] = [request.body.readUInt32LE(0), request.body.readUInt32LE(4), childOf(request, 16)]
    const fd = fs.openSync(path, (flags & accessFlags) | fs.constants.O_CREAT | (flags & fs.constants.O_EXCL), mode & 0o7777)
    return Buffer.concat([entry(path), opened(fd)])
  },
  36: () => noReply, // interrupt
  42: () => noReply, // batch forget
  45: (request) => renameRequest(request, 16),
}

function renameRequest(request: Request, at: number): Buffer {
  const from = childOf(request, at)
  const target = paths.get(request.body.readBigUInt64LE(0)) ?? ''
  return rename(from, join(target, nameIn(request.body, request.body.indexOf(0, at) + 1)))
}

function linkRequest(request: Request): Buffer {
  fs.linkSync(paths.get(request.body.readBigUInt64LE(0)) ?? '', childOf(request, 8))
  return entry(childOf(request, 8))
}

const codes: Record<string, number> = { ENOENT: 2, EIO: 5, EEXIST: 17, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, ENOTEMPTY: 39, ENOSYS: 38 }

function replyTo(message: Buffer): { error: number; body: Buffer } | null {
  const node = message.readBigUInt64LE(16)
  const operation = operations[message.readUInt32LE(4)]
  if (!operation) return { error: 38, body: Buffer.alloc(0) }
  try {
    const body = operation({ node, body: message.subarray(40), path: paths.get(node) ?? '' })
    return body === noReply ? null : { error: 0, body }
  } catch (error) {
    return { error: codes[(error as NodeJS.ErrnoException).code ?? ''] ?? 5, body: Buffer.alloc(0) }
  }
}

const buffer = Buffer.alloc(1024 ** 2)
for (;;) {
  let length: number
  try {
    length = fs.readSync(device, buffer)
  } catch (error) {
    if (['EINTR', 'EAGAIN', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) continue
    process.exit(0) // unmounted
  }
  const reply = replyTo(buffer.subarray(0, length))
  if (!reply) continue
  const head = Buffer.alloc(16)
  head.writeUInt32LE(16 + reply.body.length, 0)
  head.writeInt32LE(-reply.error, 4)
  buffer.copy(head, 8, 8, 16)
  try {
    fs.writeSync(device, Buffer.concat([head, reply.body]))
  } catch {
    // The request was interrupted.
  }
}
