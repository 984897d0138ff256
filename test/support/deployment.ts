import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { variables } from '../../server/platform/config/variables.ts'
import { root } from './sources.ts'

/** Reads a file by its path relative to the repository root. */
export const read = (path: string): string => readFileSync(join(root, path), 'utf8')

const nodeVariables = ['MALLOC_ARENA_MAX', 'NODE_COMPILE_CACHE']

/** Returns the names that are neither settings of the server nor of Node. */
export const unknownSettings = (names: string[]): string[] =>
  names.filter((name) => !(name.replace(/_FILE$/, '') in variables) && !nodeVariables.includes(name))

/** A value that satisfies a setting whose real value is a secret. */
export const secretValue = (name: string): string =>
  name === 'POSTGRES_URL' ? 'postgres://snug:secret@postgres/snug' : 'a secret of more than 32 characters'
