/** Fields of a tar header. `type` is the type flag: 0 file, 1 hard link, 2 symbolic link, 5 directory, L long name, x PAX, g global PAX … */
export type TarHeader = {
  name: string | Buffer
  type?: string
  size?: number | string
  link?: string
  prefix?: string
  /** The format. Version 7 of Unix has no mark, and no owner names. */
  magic?: 'gnu' | 'ustar' | 'v7'
}

/** Returns a 512-byte header with a valid checksum and owner `pub`. A size given as a string is written unchanged, so that it can be invalid. */
export function tarHeader({ name, type = '0', size = 0, link = '', prefix = '', magic = 'gnu' }: TarHeader): Buffer {
  const header = Buffer.alloc(512)
  header.set(Buffer.from(name).subarray(0, 100), 0)
  header.write(`${octal(type === '5' ? 0o755 : 0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100, 'latin1')
  header.write(typeof size === 'string' ? size : `${octal(size, 11)} `, 124, 'latin1')
  header.write(`${octal(1_700_000_000, 11)} `, 136, 'latin1')
  header.write(type, 156, 'latin1')
  header.write(link, 157, 100)
  if (magic !== 'v7') {
    header.write(magic === 'gnu' ? 'ustar  \0' : 'ustar\u000000', 257, 'latin1')
    header.write('pub', 265)
    header.write('pub', 297)
  }
  header.write(prefix, 345, 155)
  return withChecksum(header)
}

/** Returns an entry: its header (preceded by a GNU long name if the name requires it), content and padding. */
export function tarEntry(header: TarHeader, content: string | Buffer = ''): Buffer {
  const body = Buffer.from(content)
  const name = Buffer.from(header.name)
  const entry = padded([tarHeader({ size: body.length, ...header }), body])
  return name.length > 100
    ? Buffer.concat([tarEntry({ name: '././@LongLink', type: 'L' }, Buffer.concat([name, Buffer.alloc(1)])), entry])
    : entry
}

/** End-of-archive marker: two zero blocks. */
export const tarEnd = Buffer.alloc(1024)

function padded(parts: Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  return Buffer.concat(parts, Math.ceil(length / 512) * 512)
}

function withChecksum(header: Buffer): Buffer {
  header.fill(' ', 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148, 'latin1')
  return header
}

const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
