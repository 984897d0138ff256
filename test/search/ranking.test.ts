import { expect, it } from 'vitest'
import { searchPackages } from '../../server/registry/search/service.ts'
import { type TestApp, testApp } from '../app.ts'
import { addRealPackages } from './real-packages.ts'

/** The expected first results of each query, in order. */
const expected: Record<string, string[]> = {
  http: ['http'],
  'http client': ['http', 'chopper', 'dio'],
  'state management': ['flutter_bloc', 'bloc', 'get', 'provider'],
  svg: ['flutter_svg'],
  router: ['go_router', 'shelf_router'],
  imagePicker: ['image_picker'],
  'image picker': ['image_picker'],
  'deep equality': ['collection'],
  htpp: ['http'],
  riverpd: ['riverpod', 'flutter_riverpod'],
  chartz: ['fl_chart'],
  bloc: ['bloc', 'flutter_bloc'],
  json: ['json_annotation', 'json_serializable'],
  'local notifications': ['flutter_local_notifications', 'awesome_notifications'],
  sqlite: ['sqflite', 'sqlite3'],
  database: ['sqflite', 'hive'],
  'google maps': ['google_maps_flutter'],
  'shared preferences': ['shared_preferences'],
  'dependency injection': ['get_it', 'injectable'],
  'video player': ['video_player'],
  webview: ['webview_flutter', 'flutter_inappwebview'],
  chart: ['fl_chart', 'syncfusion_flutter_charts'],
  'barcode scanner': ['mobile_scanner'],
  'firebase auth': ['firebase_auth'],
  'secure storage': ['flutter_secure_storage'],
  carousel: ['carousel_slider'],
  logging: ['logging', 'logger'],
  DateFormat: ['intl'],
  PriorityQueue: ['collection'],
  markdown: ['markdown', 'flutter_markdown'],
  websocket: ['web_socket_channel'],
  permissions: ['permission_handler'],
  location: ['location', 'geolocator'],
  jwt: ['jwt_decoder'],
}

/** Queries whose words occur in another form, are misspelled, or do not all occur. */
const expectedOfWords: Record<string, string[]> = {
  geolocation: ['geolocator'],
  'web view': ['webview_flutter'],
  'google map': ['google_maps_flutter'],
  share: ['share_plus'],
  camera: ['camera'],
  'url launcher': ['url_launcher'],
  permission: ['permission_handler'],
  'retry with backoff': ['retry'],
  'retry back off': ['retry'],
  'exponential backoff': ['retry'],
  'push notifications': ['onesignal_flutter'],
  'push notification': ['onesignal_flutter'],
  'image processing': ['image'],
  'htp client': ['http'],
  'htpp clinet': ['http'],
  'stat managment': ['flutter_bloc'],
  'locl notifcations': ['flutter_local_notifications'],
  'sharing content': ['share_plus'],
  cookies: ['cookie_jar'],
  'a library for charts': ['fl_chart'],
  'how to parse yaml': ['yaml'],
  'web socket': ['web_socket_channel'],
  'web-socket': ['web_socket_channel'],
  'type ahead': ['flutter_typeahead'],
  'sign in with apple': ['sign_in_with_apple'],
  'signin google': ['google_sign_in'],
  'speech recognitions': ['speech_to_text'],
  'sqlite databases': ['sqflite'],
  animation: ['animations'],
  'barcodes scanning': ['mobile_scanner'],
  'drag and drop': ['desktop_drop'],
  'loading spinners': ['flutter_spinkit'],
  'geolocaton plugin': ['geolocator'],
  'key-value storage': ['shared_preferences'],
  'dependency injecton': ['get_it'],
  'the environment variables': ['flutter_dotenv'],
}

const member = { id: '00000000-0000-7000-8000-000000000000', scopes: new Set(['read'] as const) }

async function find({ services }: TestApp, query: string, searcher: typeof member | null, limit = 50, offset = 0): Promise<string[]> {
  const { matches } = await searchPackages(services.database, { searcher, here: services.config, query, limit, offset })
  return matches.map(({ name }) => name)
}

it('ranks the expected packages first for signed-in and anonymous users', async () => {
  await using app = await testApp()
  await addRealPackages(app)
  for (const searcher of [member, null]) {
    const found: Record<string, string[]> = {}
    for (const [query, names] of Object.entries(expected)) found[query] = (await find(app, query, searcher)).slice(0, names.length)
    expect(found).toEqual(expected)
  }
})

it('finds words in other forms, corrects each word and leaves out words', async () => {
  await using app = await testApp()
  await addRealPackages(app)
  for (const searcher of [member, null]) {
    const found: Record<string, string[]> = {}
    for (const [query, names] of Object.entries(expectedOfWords)) found[query] = (await find(app, query, searcher)).slice(0, names.length)
    expect(found).toEqual(expectedOfWords)
    for (const query of ['push notifications', 'push notification'])
      expect(await find(app, query, searcher)).toContain('firebase_messaging')
  }
})

it('ranks the parts of federated plugins after the plugin', async () => {
  await using app = await testApp()
  await addRealPackages(app)
  for (const [query, plugin] of Object.entries({
    geolocation: 'geolocator',
    'google maps': 'google_maps_flutter',
    webview: 'webview_flutter',
    permission: 'permission_handler',
    'image picker': 'image_picker',
    'files path': 'path_provider',
  })) {
    const names = await find(app, query, member)
    const places = names.flatMap((name, index) => (name.startsWith(`${plugin}_`) ? [index] : []))
    expect({ query, first: names.indexOf(plugin), parts: places.length > 0 }).toEqual({ query, first: expect.any(Number), parts: true })
    expect(Math.min(...places)).toBeGreaterThan(names.indexOf(plugin))
    expect(names.indexOf(plugin)).toBeGreaterThan(-1)
  }
  expect((await find(app, 'geolocator android', member))[0]).toBe('geolocator_android')
})

it('keeps the order across pages and for any order of indexing', async () => {
  await using app = await testApp()
  await using reversed = await testApp()
  await addRealPackages(app)
  await addRealPackages(reversed, (packages) => packages.toReversed())
  // 'flutter' matches more packages than are ranked.
  for (const query of ['flutter', 'flutter plugin', 'dart', 'platform implementation', 'a']) {
    const all = await find(app, query, member, 400)
    expect(new Set(all).size).toBe(all.length)
    expect(await find(reversed, query, member, 400)).toEqual(all)
    const pages: string[] = []
    for (let offset = 0; offset < all.length; offset += 30) pages.push(...(await find(app, query, member, 30, offset)))
    expect(pages).toEqual(all)
  }
})
