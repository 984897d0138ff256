import { describe, expect, it } from 'vitest'
import { type PlatformFacts, platformsOf, type PlatformSupport } from '../../../server/analysis/dart/platforms.ts'
import { readApi } from '../../../server/analysis/dart/read-api.ts'

const plain: PlatformFacts = {
  name: 'own',
  sdks: [],
  usesFlutter: false,
  platforms: [],
  pluginPlatforms: null,
  webPlugin: null,
  hasPrograms: false,
  dependencies: [],
  packages: new Map(),
}

async function support(sources: Record<string, string>, facts: Partial<PlatformFacts> = {}): Promise<PlatformSupport> {
  return platformsOf(await readApi(new Map(Object.entries(sources)), 'own'), { ...plain, ...facts })
}

const platformsIn = ({ tags }: PlatformSupport) =>
  tags.filter((tag) => tag.startsWith('platform:')).map((tag) => tag.slice('platform:'.length))
const flutter = { sdks: ['flutter'], usesFlutter: true }
const everywhere = ['android', 'ios', 'windows', 'linux', 'macos', 'web']

describe('platforms', () => {
  it('includes all platforms by default', async () => {
    const { tags, hindrances } = await support({ 'lib/own.dart': "import 'dart:async'; import 'package:http/http.dart';" })
    expect(tags).toEqual([
      'sdk:dart',
      'sdk:flutter',
      ...everywhere.map((name) => `platform:${name}`),
      'runtime:native-aot',
      'runtime:native-jit',
      'runtime:web',
      'is:wasm-ready',
    ])
    expect(hindrances).toEqual([])
  })

  it('follows the imports of files of the package, and reports the import path', async () => {
    const found = await support({
      'lib/own.dart': "export 'src/a.dart';",
      'lib/src/a.dart': "import 'package:own/src/b.dart';",
      'lib/src/b.dart': "import 'dart:io';",
    })
    expect(platformsIn(found)).toEqual(['android', 'ios', 'windows', 'linux', 'macos'])
    expect(found.hindrances[0]).toEqual({
      tag: 'platform:web',
      path: ['lib/own.dart', 'lib/src/a.dart', 'lib/src/b.dart', 'dart:io'],
    })
  })

  it('resolves conditional imports per platform', async () => {
    const sources = {
      'lib/own.dart': "import 'stub.dart' if (dart.library.io) 'src/io.dart' if (dart.library.js_interop == 'true') 'src/web.dart';",
      'lib/src/io.dart': "import 'dart:io';",
    }
    expect(platformsIn(await support({ ...sources, 'lib/src/web.dart': "import 'package:web/web.dart';" }))).toEqual(everywhere)
    expect(platformsIn(await support({ ...sources, 'lib/src/web.dart': "import 'dart:ffi';" }))).not.toContain('web')
    const onlyWithHtml = await support({ ...sources, 'lib/src/web.dart': "import 'dart:html';" })
    expect(platformsIn(onlyWithHtml)).toEqual(everywhere)
    expect(onlyWithHtml.tags).not.toContain('is:wasm-ready')
  })

  it('prefers the library with the name of the package', async () => {
    const other = { 'lib/other.dart': "import 'dart:html';" }
    expect(platformsIn(await support(other))).toEqual(['web'])
    expect(platformsIn(await support({ ...other, 'lib/own.dart': '' }))).toEqual(everywhere)
  })

  it('uses the platforms that the pubspec declares', async () => {
    const sources = { 'lib/own.dart': "import 'dart:io';", 'lib/own_web.dart': "import 'dart:io';" }
    const plugin = { ...flutter, pluginPlatforms: ['android', 'web'], webPlugin: 'own_web.dart' }
    const found = await support(sources, plugin)
    expect(platformsIn(found)).toEqual(['android', 'web'])
    expect(found.tags).not.toContain('sdk:dart')
    expect(found.tags).not.toContain('is:wasm-ready')
    expect(platformsIn(await support(sources, { ...plugin, platforms: ['linux'] }))).toEqual(['linux'])
  })

  it('uses the platforms of Flutter if its libraries are imported', async () => {
    expect(platformsIn(await support({ 'lib/own.dart': "import 'package:flutter/material.dart';" }, flutter))).toEqual(everywhere)
  })

  it('uses desktop platforms for packages with only executables', async () => {
    expect(platformsIn(await support({}, { hasPrograms: true }))).toEqual(['linux', 'macos', 'windows'])
  })
})
