import { describe, expect, it } from 'vitest'
import { platformsOf } from '../../../server/analysis/dart/platforms.ts'
import { readApi } from '../../../server/analysis/dart/read-api.ts'
import type { KnownPackage } from '../../../server/analysis/dart/reachable-libraries.ts'

type Other = Partial<Omit<KnownPackage, 'files'>> & { files?: Record<string, string> }

/** Returns the platform support of the package `own`, whose library has this code, with packages of these files as dependencies. */
async function support(code: string, others: Record<string, Other>, facts: { sdks?: string[]; dependencies?: string[] } = {}) {
  const packages = new Map<string, KnownPackage>()
  for (const [name, { files, ...known }] of Object.entries(others)) {
    const read = files === undefined ? null : (await readApi(new Map(Object.entries(files)), name)).files
    const imports = read === null ? null : new Map(read.map(({ path, imports: all }) => [path, all]))
    packages.set(name, { sdks: [], platforms: null, dependencies: [], ...known, files: imports })
  }
  const { sdks = [], dependencies = Object.keys(others) } = facts
  const own = {
    name: 'own',
    sdks,
    usesFlutter: sdks.includes('flutter'),
    platforms: [],
    pluginPlatforms: null,
    webPlugin: null,
    hasPrograms: false,
  }
  return platformsOf(await readApi(new Map([['lib/own.dart', code]]), 'own'), { ...own, dependencies, packages })
}

const platformsIn = ({ tags }: { tags: string[] }) =>
  tags.flatMap((tag) => (tag.startsWith('platform:') ? [tag.slice('platform:'.length)] : []))
const everywhere = ['android', 'ios', 'windows', 'linux', 'macos', 'web']

describe('platforms of a package with dependencies', () => {
  const file = {
    files: {
      'lib/file.dart': "export 'src/local.dart';",
      'lib/memory.dart': "import 'src/base.dart';",
      'lib/src/local.dart': "import 'dart:io';",
      'lib/src/base.dart': '',
    },
  }

  it('excludes platforms that imported libraries of other packages do not support', async () => {
    const glob = { files: { 'lib/glob.dart': "import 'package:file/file.dart';" }, dependencies: ['file'] }
    const found = await support("import 'package:glob/glob.dart';", { glob, file })
    expect(platformsIn(found)).toEqual(['android', 'ios', 'windows', 'linux', 'macos'])
    expect(found.tags).not.toContain('is:wasm-ready')
    expect(found.tags).not.toContain('runtime:web')
    expect(found.hindrances.find(({ tag }) => tag === 'platform:web')).toEqual({
      tag: 'platform:web',
      path: ['lib/own.dart', 'package:glob/glob.dart', 'package:file/file.dart', 'package:file/src/local.dart', 'dart:io'],
    })
  })

  it('ignores libraries of other packages that are not imported', async () => {
    const found = await support("import 'package:file/memory.dart';", { file })
    expect([platformsIn(found), found.tags.includes('is:wasm-ready')]).toEqual([everywhere, true])
  })

  it('follows conditional imports of other packages per platform', async () => {
    const http = {
      files: {
        'lib/http.dart': "import 'src/stub.dart' if (dart.library.js_interop) 'src/web.dart' if (dart.library.io) 'src/io.dart';",
        'lib/src/web.dart': "import 'dart:js_interop';",
        'lib/src/io.dart': "import 'dart:io';",
        'lib/src/stub.dart': '',
      },
    }
    expect(platformsIn(await support("import 'package:http/http.dart';", { http }))).toEqual(everywhere)
  })

  it('uses the platforms that the pubspec of a plugin declares, regardless of its imports', async () => {
    const plugin = { platforms: ['ios', 'web'], files: { 'lib/plugin.dart': "import 'dart:io'; import 'dart:html';" } }
    const found = await support("import 'package:plugin/plugin.dart';", { plugin })
    expect(platformsIn(found)).toEqual(['ios', 'web'])
    // Pubspecs do not declare WebAssembly as a platform.
    expect(found.tags).not.toContain('is:wasm-ready')
    expect(platformsIn(await support('', { plugin }))).toEqual(everywhere)
  })

  it('follows imports back into the package itself, and terminates for circular imports', async () => {
    const other = { files: { 'lib/other.dart': "import 'package:own/src/more.dart'; import 'package:own/own.dart';" } }
    expect(platformsIn(await support("import 'package:other/other.dart';", { other }))).toEqual(everywhere)
  })
})

describe('unknown package', () => {
  it('is reported and assumed to support all platforms', async () => {
    const found = await support("import 'dart:io'; import 'package:elsewhere/elsewhere.dart';", {})
    expect(platformsIn(found)).toEqual(['android', 'ios', 'windows', 'linux', 'macos'])
    expect(found.unknownPackages).toEqual(['elsewhere'])
    expect(found.hindrances).toContainEqual({ tag: 'platform:web', path: ['lib/own.dart', 'dart:io'] })
  })

  it('has built-in information if it wraps a library of Dart', async () => {
    expect(platformsIn(await support("import 'package:ffi/ffi.dart';", {}))).not.toContain('web')
    const own = { ffi: { files: { 'lib/ffi.dart': '' } } }
    expect(platformsIn(await support("import 'package:ffi/ffi.dart';", own))).toEqual(everywhere)
  })

  it('is not required if a plugin declares its platforms', async () => {
    expect(platformsIn(await support("import 'package:plugin/plugin.dart';", { plugin: { platforms: ['ios'] } }))).toEqual(['ios'])
  })
})

describe('SDKs', () => {
  it('are those of all dependencies, whether imported or not', async () => {
    const between = { dependencies: ['widgets'], files: {} }
    const found = await support('', { between, widgets: { sdks: ['flutter'], files: {} } }, { dependencies: ['between'] })
    expect(found.tags.filter((tag) => /^(?:sdk|runtime):/.test(tag))).toEqual(['sdk:flutter'])
    expect(found.hindrances[0]).toEqual({ tag: 'sdk:dart', path: ['between', 'widgets'] })
    expect((await support('', {}, { sdks: ['fuchsia'] })).tags.filter((tag) => tag.startsWith('sdk:'))).toEqual([])
  })
})
