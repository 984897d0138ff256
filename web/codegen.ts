import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { preset } from '@graphql-codegen/client-preset'
import { codegen } from '@graphql-codegen/core'
import { parse, stripIgnoredCharacters } from 'graphql'
import type { Plugin } from 'vite'

const web = import.meta.dirname
const schemaFile = join(web, '../schema.graphql')
const output = join(web, 'generated/')

/**
 * Makes `generated/graphql.ts`: every operation in the features' folders as a typed document, checked against the schema. Each document is a
 * module of its own, so that it is loaded with the pages that need it.
 */
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
  const [types = '', documents = ''] = (await codegen(section)).split(/^(?=export class TypedDocumentString)/m)
  const operations = operationsIn(documents)
  rmSync(join(output, 'documents'), { recursive: true, force: true })
  mkdirSync(join(output, 'documents'), { recursive: true })
  for (const { name, module } of operations) writeFileSync(join(output, `documents/${name}.ts`), module)
  const reexports = operations.map(({ name }) => `export { ${name} } from './documents/${name}.ts'\n`)
  writeFileSync(section.filename, [types, typedText, ...reexports].join(''))
}

const typedText = `/** The text of an operation, typed by what it gives and takes. */
export type TypedDocumentString<Result, Variables> = string & DocumentTypeDecoration<Result, Variables>
`

/** The operations among the documents of the preset, each as a module without the document's line ends and indents. Fragments are part of them. */
function operationsIn(documents: string) {
  const form = /^export const (\w+) = new TypedDocumentString\(`([^`]*)`.*\) as unknown as TypedDocumentString<(\w+), (\w+)>;$/gm
  return Array.from(documents.matchAll(form), ([, name = '', text = '', result = '', variables = '']) => ({
    name,
    text,
    result,
    variables,
  }))
    .filter(({ variables }) => variables !== 'unknown')
    .map(({ name, text, result, variables }) => ({
      name,
      module: `import type { TypedDocumentString, ${result}, ${variables} } from '../graphql.ts'

export const ${name} = ${JSON.stringify(stripIgnoredCharacters(text))} as TypedDocumentString<${result}, ${variables}>
`,
    }))
}
