import { computed, reactive, ref, shallowRef, watch } from 'vue'
import type { TypedDocumentNode } from '@urql/vue'
import { client, type Failure, failureOf } from '../graphql.ts'
import type { CursorList } from '../shared/cursor-list.ts'

interface Page<Item> {
  nodes: readonly Item[]
  pageInfo: { hasNextPage: boolean; endCursor?: string | null }
}

interface SelectionOptions<Item, Result, Filter> {
  list: CursorList<Item>
  /** The query of all rows, 100 at a time, with the filter of the list. A change of the filter clears the selection. */
  document: TypedDocumentNode<Result, Filter & { after: string | null }>
  filter: () => Filter
  page: (data: Result) => Page<Item> | null | undefined
  isSelectable?: (item: Item) => boolean
}

/** Selected rows of a list, on this page and on others. */
export function useSelection<Item extends { id: string }, Result, Filter extends Record<string, unknown>>(
  options: SelectionOptions<Item, Result, Filter>,
) {
  const { list, isSelectable = () => true } = options
  const chosen = shallowRef<ReadonlyMap<string, Item>>(new Map())
  const loading = ref(false)
  const failure = shallowRef<Failure>()
  const onPage = computed(() => (list.rows ?? []).filter(isSelectable))
  const chosenOnPage = computed(() => onPage.value.filter(({ id }) => chosen.value.has(id)).length)
  const clear = () => choose([])
  watch(() => JSON.stringify(options.filter()), clear)

  function choose(items: Iterable<Item>) {
    loading.value = false
    failure.value = undefined
    chosen.value = new Map([...items].map((item) => [item.id, item]))
  }
  function change(items: readonly Item[], isChosen: boolean) {
    const ids = new Set(items.map(({ id }) => id))
    choose([...[...chosen.value.values()].filter(({ id }) => !ids.has(id)), ...(isChosen ? items : [])])
  }
  /** Selects all rows that match the filter. Stops if the selection changes while they are loaded. */
  async function chooseAll() {
    const all: Item[] = []
    const filter = options.filter()
    loading.value = true
    failure.value = undefined
    for (let after: string | null = null; ;) {
      const { data, error }: { data?: Result; error?: Parameters<typeof failureOf>[0] } = await client
        .query(options.document, { ...filter, after }, { requestPolicy: 'network-only' })
        .toPromise()
      if (!loading.value) return
      const page: Page<Item> | null | undefined = data && options.page(data)
      if (error) failure.value = failureOf(error)
      if (!page) break
      all.push(...page.nodes.filter(isSelectable))
      after = page.pageInfo.endCursor ?? null
      if (!page.pageInfo.hasNextPage) return choose(all)
    }
    loading.value = false
  }
  return reactive({
    items: computed(() => [...chosen.value.values()]),
    size: computed(() => chosen.value.size),
    /** State of the checkbox that selects the page. */
    pageState: computed(() =>
      chosenOnPage.value === 0 ? false : chosenOnPage.value === onPage.value.length ? true : ('indeterminate' as const),
    ),
    isPageEmpty: computed(() => onPage.value.length === 0),
    /** Whether the page is selected, and the list has further rows. */
    canChooseAll: computed(
      () => chosenOnPage.value > 0 && chosenOnPage.value === onPage.value.length && chosen.value.size < list.total && !loading.value,
    ),
    total: computed(() => list.total),
    loading,
    failure,
    has: ({ id }: Item) => chosen.value.has(id),
    isSelectable,
    toggle: (item: Item) => change([item], !chosen.value.has(item.id)),
    togglePage: () => change(onPage.value, chosenOnPage.value < onPage.value.length),
    chooseAll,
    choose,
    clear,
  })
}

/** The parts of a selection that do not depend on the rows. */
export type SelectionState = Pick<
  ReturnType<typeof useSelection>,
  'size' | 'pageState' | 'isPageEmpty' | 'canChooseAll' | 'total' | 'loading' | 'failure' | 'togglePage' | 'chooseAll' | 'clear'
>
