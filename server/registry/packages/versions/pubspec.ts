import { describePubspec, type Pubspec } from '../../archive/pubspec.ts'
import { isObject, type Json } from '../../archive/yaml.ts'
import type { PackageVersion } from '../entity.ts'

/** Returns the parsed pubspec of a version. Cached for as long as the version entity is in memory. */
export function pubspecOf(version: PackageVersion): Pubspec {
  let pubspec = pubspecs.get(version)
  if (!pubspec) pubspecs.set(version, (pubspec = storedPubspec(version.pubspec)))
  return pubspec
}

export function storedPubspec(text: string): Pubspec {
  const document = JSON.parse(text) as Json
  return describePubspec(isObject(document) ? document : {})
}

const pubspecs = new WeakMap<PackageVersion, Pubspec>()

/** Shells that quote arguments differently. */
export type Shell = 'posix' | 'powershell' | 'cmd'

export type Installation = {
  tokenCommand: string
  addCommands: Record<Shell, string>
  pubspecYaml: string
  importStatement: string
  activateCommand: string | null
}

type Wanted = { name: string; version: string; needsFlutter: boolean; executables: readonly string[] }

/** Returns the commands and snippets for depending on a version hosted on this server. Source: `dart pub help add`, `dart pub help token add`. */
export function installation({ name, version, needsFlutter, executables }: Wanted, serverUrl: string): Installation {
  const tool = needsFlutter ? 'flutter' : 'dart'
  const constraint = `^${version}`
  // Windows PowerShell drops double quotes inside an argument, so the descriptor is YAML without any. cmd keeps `^` inside double quotes.
  const unquoted = `${tool} pub add "${name}:{hosted: ${serverUrl}, version: ${constraint}}"`
  return {
    tokenCommand: `dart pub token add ${serverUrl}`,
    addCommands: {
      posix: `${tool} pub add '${name}:{"hosted":"${serverUrl}","version":"${constraint}"}'`,
      powershell: unquoted,
      cmd: unquoted,
    },
    pubspecYaml: `dependencies:\n  ${name}:\n    hosted: ${serverUrl}\n    version: ${constraint}\n`,
    importStatement: `import 'package:${name}/${name}.dart';`,
    activateCommand: executables.length ? `dart pub global activate --hosted-url ${serverUrl} ${name} ${version}` : null,
  }
}
