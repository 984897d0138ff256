import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { preset } from '@graphql-codegen/client-preset'
import { codegen } from '@graphql-codegen/core'
import { formatDocument } from '@urql/vue'
import { Kind, parse, print, stripIgnoredCharacters } from 'graphql'
import type { Plugin } from 'vite'

const web = import.meta.dirname
const schemaFile = join(web, '../schema.graphql')
const output = join(web, 'generated/')

/**
 * Vite plugin that generates `generated/graphql.ts`: typed documents for all `.graphql` operations, validated against the schema. Each document
 * gets its own module, so that only the pages that use it load it. Scripts contain only the SHA-256 hash of an operation;
 * `generated/documents.json` maps the hashes to operation texts and is included in the build for the server.
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
  if (!section) throw new Error('The codegen client preset did not generate graphql.ts.')
  const [types = '', documents = ''] = (await codegen(section)).split(/^(?=export class TypedDocumentString)/m)
  const operations = operationsIn(documents)
  rmSync(join(output, 'documents'), { recursive: true, force: true })
  mkdirSync(join(output, 'documents'), { recursive: true })
  for (const { name, module } of operations) writeFileSync(join(output, `documents/${name}.ts`), module)
  const reexports = operations.map(({ name }) => `export { ${name} } from './documents/${name}.ts'\n`)
  writeFileSync(section.filename, [types.replace(/^import .*\n/m, ''), ...reexports].join(''))
  writeFileSync(join(output, 'documents.json'), JSON.stringify(Object.fromEntries(operations.map(({ hash, text }) => [hash, text]))))
}

/** Extracts the operations from the preset's output: the text that clients send, its SHA-256, and a module that contains only the hash. */
function operationsIn(documents: string) {
  const form = /^export const (\w+) = new TypedDocumentString\(`([^`]*)`.*\) as unknown as TypedDocumentString<(\w+), (\w+)>;$/gm
  return Array.from(documents.matchAll(form), ([, name = '', source = '', result = '', variables = '']) => ({
    name,
    source,
    result,
    variables,
  }))
    .filter(({ variables }) => variables !== 'unknown')
    .map(({ name, source, result, variables }) => {
      const document = parse(source)
      const [definition] = document.definitions
      if (definition?.kind !== Kind.OPERATION_DEFINITION)
        throw new Error(`The first definition in the document ${name} must be an operation.`)
      // urql's cache needs `__typename` in every selection set. Whitespace is stripped.
      const text = stripIgnoredCharacters(print(formatDocument(document)))
      const hash = createHash('sha256').update(text).digest('hex')
      const named = [definition.operation, definition.name?.value, hash].map((part) => `'${part}'`).join(', ')
      const imports = [`{ operation } from '../../operation.ts'`, `type { ${result}, ${variables} } from '../graphql.ts'`]
      const made = `export const ${name} = /* @__PURE__ */ operation<${result}, ${variables}>(${named})`
      const module = [...imports.map((line) => `import ${line}`), made, ''].join('\n')
      return { name, text, hash, module }
    })
}
