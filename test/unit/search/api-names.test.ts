import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import { surfaceOf } from '../../../server/analysis/dart/surface.ts'
import { namesInSurface, packedSurfaceBytes } from '../../../server/registry/packages/versions/searched-texts.ts'

async function surfaceFrom(source: string) {
  return JSON.stringify(surfaceOf(await readApi(new Map([['lib/acme.dart', source]]), 'acme')))
}

it('extracts the names of a public API, with types and functions before members', async () => {
  const surface = await surfaceFrom(`
    class Client extends _Hidden { Client(); Client.open(); void send(String name) {} int get count => 1; operator +(Object other) => this; }
    void fetch([String text = '"kind":"class","name":"Injected"']) {}
    typedef Handler = void Function();
    const limit = 1;
    class _Hidden { void inherited() {} }
  `)
  const names = namesInSurface(gzipSync(surface))
  expect(names.slice(0, 3).toSorted()).toEqual(['Client', 'Handler', 'fetch'])
  expect(names.slice(3).toSorted()).toEqual(['count', 'limit', 'send'])
})

it('reads the beginning of a large API, and ignores invalid or too large data', async () => {
  const noise = Array.from({ length: 20_000 }, (_, index) => `void function${(index * 7919) % 104_729}() {}`).join('\n')
  const packed = gzipSync(await surfaceFrom(noise))
  const names = namesInSurface(packed.subarray(0, packedSurfaceBytes))
  expect(packed.length).toBeGreaterThan(packedSurfaceBytes)
  expect(names.length).toBeGreaterThan(1000)
  expect(names[0]).toMatch(/^function\d+$/)
  for (const other of [Buffer.from('no gzip'), Buffer.alloc(0), gzipSync('{}'), gzipSync(Buffer.alloc(8 * 1024 ** 2))])
    expect(namesInSurface(other)).toEqual([])
})
