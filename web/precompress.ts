import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { Plugin } from 'vite'

type Content = string | Uint8Array

const encoders: Record<string, (content: Content) => Promise<Buffer>> = {
  br: promisify<Content, Buffer>(brotliCompress),
  gz: (content) => promisify(gzip)(content, { level: constants.Z_BEST_COMPRESSION }),
}

/** Minimum size in bytes. Smaller files fit into one network packet uncompressed. */
const minBytes = 1024

/** Vite plugin that writes Brotli and gzip copies of the build's text files. The server sends them to clients that accept the encoding. */
export function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    async writeBundle({ dir = '' }, bundle) {
      const files = Object.values(bundle).map((file) => ({ name: file.fileName, content: file.type === 'chunk' ? file.code : file.source }))
      const texts = files.filter(({ name, content }) => /\.(js|css|svg)$|documents-[^/]+\.json$/.test(name) && content.length >= minBytes)
      await Promise.all(
        texts.flatMap(({ name, content }) =>
          Object.entries(encoders).map(async ([extension, compress]) =>
            writeFile(join(dir, `${name}.${extension}`), await compress(content)),
          ),
        ),
      )
    },
  }
}
