import { computed, type MaybeRefOrGetter, toValue } from 'vue'
import { useRoute } from 'vue-router'
import { FileDiffDocument, type FileDiffQuery } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'

type Diff = NonNullable<NonNullable<NonNullable<NonNullable<FileDiffQuery['package']>['version']>['comparison']>['files']['diff']>
export type Hunk = Diff['hunks'][number]
export type Line = Hunk['lines'][number]

interface Wanted {
  from: string
  to: string
  path: string
  /** Number of unchanged lines around each change. */
  context: number
}

/** Loads the difference of a file once it is wanted. Null if the file did not change. */
export function useFileDiff(wanted: MaybeRefOrGetter<Wanted>, isWanted: MaybeRefOrGetter<boolean>) {
  const route = useRoute()
  const { data, ...state } = useQuery(FileDiffDocument, {
    variables: () => ({ name: String(route.params.name), ...toValue(wanted) }),
    isWanted,
  })
  const diff = computed(() => (data.value ? (data.value.package?.version?.comparison?.files.diff ?? null) : undefined))
  return { ...state, diff }
}

/** A row of a side-by-side difference. */
export interface SplitRow {
  left?: Line
  right?: Line
}

/** Arranges lines side by side: removed lines next to the added lines that follow them. */
export function splitRows(lines: readonly Line[]): SplitRow[] {
  const rows: SplitRow[] = []
  let removed: Line[] = []
  const flush = () => {
    for (const left of removed) rows.push({ left })
    removed = []
  }
  for (const line of lines) {
    if (line.kind === 'REMOVED') removed.push(line)
    else if (line.kind === 'ADDED') {
      const left = removed.shift()
      rows.push({ ...(left && { left }), right: line })
    } else {
      flush()
      rows.push({ left: line, right: line })
    }
  }
  flush()
  return rows
}
