import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { z } from 'zod'
import type { Context } from '../../platform/access/context.ts'
import { basePath } from '../../platform/http/public-url.ts'
import { imageSettings, insertImages } from '../../registry/markdown/images.ts'
import { insertAddresses } from '../../registry/markdown/links.ts'
import { maxPageBytes } from '../api-pages/pack.ts'
import { anchorId, type ApiPage, apiPageSchema } from '../api-pages/page.ts'
import {
  declarationsPath,
  declarationsSchema,
  isPagePath,
  librariesPath,
  librariesSchema,
  type ListedLibrary,
  type LocatedDeclaration,
} from '../api-pages/symbols.ts'
import { findPage, type Packed, PagesLost, readPage, regenerateLost } from './read-page.ts'

/** A version with documentation. */
export type Documented = { name: string; version: string; packed: Packed }

/** A page that the console shows; or, where `content` is null, a page of dartdoc, or of an earlier version of this server, which has its own layout. */
export type FoundPage = {
  path: string
  /** Fragment of the declaration, if it has no page of its own. */
  anchor: string | null
  /** Whether the page or the anchor is what was wanted. */
  isExact: boolean
  content: ApiPage | null
}

/** Whether the console shows the pages. Those of dartdoc and of earlier versions of this server are complete pages, which are served as they are. */
export const areInConsole = async (context: Context, packed: Packed): Promise<boolean> =>
  (await findPage(context, packed, librariesPath)) !== null

/** Returns the page of a declaration, or the nearest page that exists. Null if the pages are lost, which then are generated again. */
export function findApiPage(context: Context, of: Documented, wanted: string): Promise<FoundPage | null> {
  const names = wanted.slice(0, maxPath).split('/').filter(Boolean)
  return unlessLost(context, of, async () => {
    if (!(await areInConsole(context, of.packed))) return findDartdocPage(context, of, names)
    for (let count = names.length; count > 0; count--) {
      const found =
        (await pageAt(context, of, names.slice(0, count).join('/'), names.slice(count))) ??
        (count === 2 ? await pageOfName(context, of, names) : null)
      if (found) return found
    }
    return pageAt(context, of, '', names)
  })
}

/** Returns the page at a path; null if it does not exist. `rest` names a member on the page. */
async function pageAt(context: Context, of: Documented, wanted: string, rest: readonly string[]): Promise<FoundPage | null> {
  for (const path of new Set([wanted, wanted.replace(suffix, '')])) {
    const content = isPagePath(path) ? await readJson(context, of.packed, path, apiPageSchema) : null
    if (!content) continue
    const [member = ''] = rest
    const ids = new Set(content.contents.flatMap(({ entries }) => entries.map(({ id }) => id)))
    const anchor = [member, `${content.title}.${member}`].find((one) => ids.has(anchorId(one))) ?? null
    const isExact = rest.length === 0 || (rest.length === 1 && anchor !== null)
    return { path, anchor: isExact ? anchor : null, isExact, content: { ...content, html: complete(context, of, content.html) } }
  }
  return null
}

/** Returns the page of a declaration that another library documents, or that has no page of its own. */
async function pageOfName(context: Context, of: Documented, [library, name, ...rest]: readonly string[]): Promise<FoundPage | null> {
  const libraries = (await readJson(context, of.packed, librariesPath, librariesSchema)) ?? []
  const named = libraries.flatMap((one) =>
    one.declarations.filter((each) => each.name === name).map((each) => ({ ...each, library: one.path })),
  )
  const found = named.find((one) => one.library === library) ?? named[0]
  return found ? pageAt(context, of, found.path, found.anchor === null ? rest : [found.anchor, ...rest]) : null
}

async function findDartdocPage(context: Context, { packed }: Documented, names: readonly string[]): Promise<FoundPage> {
  const above = names.map((_name, index) => names.slice(0, names.length - index).join('/'))
  for (const path of above.flatMap((one) => [one, one.replace(suffix, '')]).flatMap(dartdocPaths))
    if (isPagePath(path) && (await findPage(context, packed, path))) return { path, anchor: null, isExact: true, content: null }
  return { path: 'index.html', anchor: null, isExact: names.length === 0, content: null }
}

/** Returns the libraries of a version with their declarations. Empty for pages that the console does not show. */
export const listLibraries = (context: Context, of: Documented): Promise<ListedLibrary[] | null> =>
  unlessLost(context, of, () => readJson(context, of.packed, librariesPath, librariesSchema))

/** Returns the documented declarations of a file, by line. */
export const listDeclarations = (context: Context, of: Documented, file: string): Promise<LocatedDeclaration[] | null> =>
  unlessLost(context, of, () => readJson(context, of.packed, declarationsPath(file), declarationsSchema))

async function unlessLost<Found>(context: Context, { packed }: Documented, read: () => Promise<Found>): Promise<Found | null> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof PagesLost)) throw error
    await regenerateLost(context, packed.sha256)
    return null
  }
}

const maxPath = 500
/** Ends of the paths of pages of dartdoc. */
const suffixes = ['class', 'mixin', 'extension', 'extension-type', 'enum', 'library']
const suffix = new RegExp(`-(?:${suffixes.join('|')})$`)

const dartdocPaths = (path: string): string[] => ['', ...suffixes.map((one) => `-${one}`), '/index'].map((end) => `${path}${end}.html`)

/** Returns the path of a page in the console for the path of a page of dartdoc, or of an earlier version of this server. */
export const consolePath = (path: string): string => path.replace(/\.html$/, '').replace(/(^|\/)(?:index|search)$/, '')

const complete = ({ config, keys }: Context, { name, version }: Documented, html: string): string =>
  insertImages(insertAddresses(html, { basePath: basePath(config.SERVER_URL), name, version }), imageSettings({ config, keys }))

const decompress = promisify<Buffer, { maxOutputLength: number }, Buffer>(gunzip)

/** Returns the text of a packed file; null without a file at this path. */
export async function readPacked(context: Context, packed: Packed, path: string): Promise<string | null> {
  const found = await findPage(context, packed, path)
  return found && (await decompress(await readPage(context, packed, found), { maxOutputLength: maxPageBytes })).toString()
}

async function readJson<T>(context: Context, packed: Packed, path: string, schema: z.ZodType<T>): Promise<T | null> {
  const text = await readPacked(context, packed, path)
  return text === null ? null : schema.parse(JSON.parse(text))
}
