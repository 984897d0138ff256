import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { preset } from '@graphql-codegen/client-preset'
import { codegen } from '@graphql-codegen/core'
import { parse, stripIgnoredCharacters } from 'graphql'
import type { Plugin } from 'vite'

const web = import.meta.dirname
const schemaFile = join(web, '../schema.graphql')
const output = join(web, 'generated/')

/** Makes `generated/graphql.ts`: every operation in the features' folders as a typed document, checked against the schema. */
export function typedOperations(): Plugin {
  return {
    name: 'typed-operations',
    buildStart: generate,
    configureServer({ watcher }) {
      watcher.add(schemaFile)
      watcher.on('change', (file) => {
        if (file.endsWith('.graphql')) generate().catch(console.error)
      })
    },
  }
}

async function generate() {
  const sections = await preset.buildGeneratesSection({
    baseOutputDir: output,
    schema: parse(readFileSync(schemaFile, 'utf8')),
    documents: globSync(join(web, '*/*.graphql')).map((file) => {
      const rawSDL = readFileSync(file, 'utf8')
      return { location: file, rawSDL, document: parse(rawSDL) }
    }),
    config: {
      documentMode: 'string',
      useTypeImports: true,
      enumType: 'string-literal',
      scalars: { DateTime: 'string', BigInt: 'number', SemVer: 'string', URL: 'string' },
    },
    presetConfig: { fragmentMasking: false },
    plugins: [],
    pluginMap: {},
  })
  const section = sections.find(({ filename }) => basename(filename) === 'graphql.ts')
  if (!section) throw new Error('The preset makes no graphql.ts any more.')
  mkdirSync(output, { recursive: true })
  writeFileSync(section.filename, withoutLayout(await codegen(section)))
}

/** The documents are part of what every page loads: their line ends and indents would only cost. */
const withoutLayout = (source: string) =>
  source.replace(
    /(new TypedDocumentString\(`)([^`]*)`/g,
    (_, start: string, document: string) => `${start}${stripIgnoredCharacters(document)}\``,
  )
