import { ManagedPackagesDocument } from '../generated/graphql.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

const orders = { name: 'NAME', size: 'SIZE', versions: 'VERSIONS', updated: 'UPDATED' } as const

/** Returns all packages with their sizes, filtered and sorted by the URL parameters `q` and `order`. */
export function useManagedPackages() {
  const resets = ['after']
  const q = useQueryParam<string>('q', '', { resets, replace: true })
  const order = useQueryParam<keyof typeof orders>('order', 'name', { allowed: ['name', 'size', 'versions', 'updated'], resets })
  const { list } = useCursorList({
    document: ManagedPackagesDocument,
    variables: (after) => ({ q: q.value || null, orderBy: orders[order.value], after }),
    connection: (data) =>
      withRows(data.managedPackages, (nodes) => nodes.flatMap(({ package: pkg, ...sums }) => (pkg ? [{ ...pkg, ...sums }] : []))),
  })
  return { list, q, order }
}
