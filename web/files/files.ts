import { computed } from 'vue'
import { type RouteLocationRaw, useRoute } from 'vue-router'
import { PackageFileDocument, type PackageFileQuery, PackageFilesDocument, type PackageFilesQuery } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { usePackageParams } from '../package/package.ts'
import { useQueryParam } from '../shared/query-param.ts'

type ListedVersion = NonNullable<NonNullable<PackageFilesQuery['package']>['displayedVersion']>
export type ListedFile = ListedVersion['files']['nodes'][number]
export type FileContent = NonNullable<NonNullable<NonNullable<PackageFileQuery['package']>['displayedVersion']>['file']>

/** Returns the path of the file or folder in the URL, without a trailing slash; '' for the root. */
export function useFilePath() {
  const route = useRoute()
  return computed(() => [route.params.path ?? []].flat().filter(Boolean).join('/'))
}

/** Returns a function that makes the route of a file or folder. The version in the URL is kept. */
export function useFileRoute() {
  const route = useRoute()
  return (path: string, version = route.params.version): RouteLocationRaw => ({
    name: version ? 'version-files' : 'package-files',
    params: { name: route.params.name, ...(version && { version }), path: path === '' ? [] : path.split('/') },
  })
}

/** Returns the files of the displayed version. */
export function useFiles() {
  const packageParams = usePackageParams()
  const { data, ...state } = useQuery(PackageFilesDocument, { variables: packageParams })
  const files = computed(() => (data.value?.package?.version ?? data.value?.package?.displayedVersion)?.files)
  return { ...state, files }
}

/** Whether a file is Markdown according to its name. */
const isMarkdown = (path: string) => /\.(md|markdown|mkd)$/i.test(path)

/** Returns the file in the URL; null if it does not exist. Markdown is shown as a preview, unless the URL asks for the source or names lines. */
export function useFile() {
  const packageParams = usePackageParams()
  const path = useFilePath()
  const route = useRoute()
  const view = useQueryParam<'preview' | 'source'>('view', 'preview', { allowed: ['preview', 'source'], replace: true })
  const hasPreview = computed(() => isMarkdown(path.value) || /\.svg$/i.test(path.value))
  const isPreview = computed(() => hasPreview.value && view.value === 'preview' && parseLines(route.hash) === null)
  const variables = () => ({
    ...packageParams.value,
    path: path.value,
    source: !isPreview.value,
    preview: isPreview.value && isMarkdown(path.value),
  })
  const { data, ...state } = useQuery(PackageFileDocument, { variables, isWanted: () => path.value !== '' })
  const file = computed(() => {
    const pkg = data.value?.package
    return data.value && ((pkg?.version ?? pkg?.displayedVersion)?.file ?? null)
  })
  return { ...state, path, view, hasPreview, isPreview, file }
}

/** A range of lines; both ends are included. */
export interface Lines {
  from: number
  to: number
}

/** Parses `#L10` or `#L10-L20`. Returns null for any other fragment. */
export function parseLines(hash: string): Lines | null {
  const [, first, last] = /^#?L?(\d{1,7})(?:-L?(\d{1,7}))?$/.exec(hash) ?? []
  if (first === undefined || Number(first) === 0) return null
  const ends = [Number(first), Number(last ?? first)]
  return { from: Math.max(1, Math.min(...ends)), to: Math.max(...ends) }
}

export const hashOf = ({ from, to }: Lines) => (from === to ? `#L${from}` : `#L${from}-L${to}`)

/** Returns the folders and files directly in a folder, folders first. Null if there is no such folder. */
export function entriesIn(files: readonly ListedFile[], folder: string) {
  const prefix = folder === '' ? '' : `${folder}/`
  const inside = files.filter(({ path }) => path.startsWith(prefix))
  if (inside.length === 0) return null
  const folders = new Map<string, number>()
  const direct: ListedFile[] = []
  for (const file of inside) {
    const slash = file.path.indexOf('/', prefix.length)
    if (slash < 0) direct.push(file)
    else folders.set(file.path.slice(0, slash), (folders.get(file.path.slice(0, slash)) ?? 0) + 1)
  }
  return { folders: [...folders].map(([path, count]) => ({ path, count })), files: direct }
}

/** Returns the last part of a path. */
export const fileName = (path: string) => path.slice(path.lastIndexOf('/') + 1)
