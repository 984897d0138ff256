import { computed, type Ref } from 'vue'
import { useSelection } from '../bulk/selection.ts'
import type { BulkAction } from '../bulk/bulk-run.ts'
import { ManagedPackageNamesDocument, ManagedPackagesDocument } from '../generated/graphql.ts'
import type { Failure } from '../graphql.ts'
import { useMyPublishers } from '../me/me.ts'
import { useDeletePackage } from '../package/deletion.ts'
import { useUpdatePackageOptions } from '../package/package-admin.ts'
import { useSetPackagePublisher } from '../publishers/publishers.ts'
import { useRescore } from '../score/score.ts'
import { useCursorList, withRows } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** A package of the list. */
export interface ManagedPackage {
  id: string
  name: string
  latest?: { version: string } | null
}

const orders = { name: 'NAME', size: 'SIZE', versions: 'VERSIONS', updated: 'UPDATED' } as const

/** Filters of the list, by the value of the URL parameter `show`. */
const filters = {
  all: {},
  ownerless: { hasOwner: false },
  discontinued: { isDiscontinued: true },
  unanalyzed: { isAnalyzed: false },
} as const satisfies Record<string, { hasOwner?: boolean; isDiscontinued?: boolean; isAnalyzed?: boolean }>
export type PackageFilter = keyof typeof filters

/** Returns all packages with their sizes, filtered and sorted by the URL parameters `q`, `show` and `order`. The list is not read while `isPaused`. */
export function useManagedPackages(isPaused: Ref<boolean>) {
  const resets = ['after']
  const q = useQueryParam<string>('q', '', { resets, replace: true })
  const show = useQueryParam<PackageFilter>('show', 'all', { allowed: Object.keys(filters) as PackageFilter[], resets })
  const order = useQueryParam<keyof typeof orders>('order', 'name', { allowed: ['name', 'size', 'versions', 'updated'], resets })
  const filter = computed(() => ({ query: q.value || null, ...filters[show.value], orderBy: orders[order.value] }))
  const { list } = useCursorList({
    document: ManagedPackagesDocument,
    variables: (after) => ({ ...filter.value, after }),
    connection: (data) =>
      withRows(data.managedPackages, (nodes) => nodes.flatMap(({ package: pkg, ...sums }) => (pkg ? [{ ...pkg, ...sums }] : []))),
    isWanted: () => !isPaused.value,
  })
  const selection = useSelection({
    list,
    document: ManagedPackageNamesDocument,
    filter: () => filter.value,
    page: ({ managedPackages }) => withRows(managedPackages, (nodes) => nodes.flatMap(({ package: pkg }) => pkg ?? [])),
  })
  /** The filter as query parameters of the REST API, for the file. */
  const parameters = computed(() => ({
    q: q.value || null,
    ...Object.fromEntries(Object.entries(filters[show.value]).map(([name, value]) => [name, String(value)])),
    orderBy: order.value,
  }))
  return { list, q, show, order, selection, parameters }
}

const noPublisher = 'none'

/** Returns the actions on many packages. Each runs the mutation of the action on one package. */
export function usePackageActions() {
  const [options, owner, removal, analysis] = [useUpdatePackageOptions(), useSetPackagePublisher(), useDeletePackage(), useRescore()]
  const { memberships } = useMyPublishers()
  const publishers = computed(() => (memberships.value ?? []).flatMap(({ publisher }) => publisher ?? []))
  const setDiscontinued = (isDiscontinued: boolean) => async (pkg: ManagedPackage) => {
    await options.run({ input: { package: pkg.name, isDiscontinued } })
    return options.failure.value
  }
  return computed<BulkAction<ManagedPackage>[]>(() => [
    {
      label: 'Discontinue',
      icon: 'i-lucide-octagon-x',
      title: (count) => `Discontinue ${count}`,
      description: 'Package clients and package pages warn that they are no longer maintained. They stay available.',
      action: 'Discontinue',
      run: setDiscontinued(true),
      done: 'Discontinued',
    },
    {
      label: 'Undo discontinuation',
      icon: 'i-lucide-undo-2',
      title: (count) => `Undo the discontinuation of ${count}`,
      description: 'Package clients and package pages no longer warn about them. Replacements are removed.',
      action: 'Undo discontinuation',
      run: setDiscontinued(false),
      done: 'Changed',
    },
    {
      label: 'Change publisher…',
      icon: 'i-lucide-building-2',
      title: (count) => `Change the publisher of ${count}`,
      description:
        'Members of the new publisher can then publish versions, and its admins can manage the packages. Uploaders and trusted publishers of the packages stay.',
      action: 'Change publisher',
      choice: {
        label: 'Publisher',
        items: [
          ...publishers.value.map(({ slug, displayName }) => ({ value: slug, label: `${displayName} (${slug})` })),
          { value: noPublisher, label: 'No publisher' },
        ],
      },
      async run(pkg, slug) {
        await owner.run({ name: pkg.name, publisher: slug === noPublisher ? null : slug })
        return owner.failure.value
      },
      done: 'Changed the publisher of',
    },
    {
      label: 'Analyze again',
      icon: 'i-lucide-rotate-cw',
      title: (count) => `Analyze ${count} again`,
      description: 'Queues a new analysis of the latest version of each. The current reports stay until the new ones are ready.',
      action: 'Analyze again',
      async run({ name, latest }): Promise<Failure | undefined> {
        if (!latest) return { code: 'Conflict', message: 'All versions are retracted.' }
        await analysis.run({ name, version: latest.version })
        return analysis.failure.value
      },
      done: 'Queued the analysis of',
    },
    {
      label: 'Delete…',
      icon: 'i-lucide-trash-2',
      tone: 'error',
      title: (count) => `Delete ${count}`,
      description:
        'The archives are removed, the version numbers can never be used again, and the names stay reserved. An administrator can restore the packages for 7 days. Packages that public packages depend on are not deleted.',
      action: 'Delete packages',
      phrase: (count) => `delete ${count}`,
      async run({ name }) {
        await removal.run({ package: name, acceptBreakage: false, freeName: false })
        return removal.failure.value
      },
      done: 'Deleted',
    },
  ])
}
