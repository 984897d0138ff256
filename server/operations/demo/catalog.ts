/** A package of the demo registry. `types` are the classes of its API, `weight` its popularity from 1 to 100. */
export type DemoPackage = {
  name: string
  kind: 'dart' | 'flutter'
  publisher: string | null
  weight: number
  description: string
  topics: string[]
  types: string[]
  dependencies: string[]
}

export const publishers = [
  { id: 'design-system', name: 'Design System', about: 'Components, icons and tokens of the Harbor apps.' },
  { id: 'platform', name: 'Platform', about: 'Networking, storage and tooling that every app uses.' },
  { id: 'payments', name: 'Payments', about: 'Checkout, wallets and invoices.' },
  { id: 'mobile', name: 'Mobile Foundations', about: 'Device features of the rider and customer apps.' },
  { id: 'logistics', name: 'Logistics', about: 'Routes, shipments and warehouses.' },
]

/** The people of the demo. The first one owns the registry; `publishers` lists the publishers that the person administers. */
export const people = [
  { name: 'Ingrid Halvorsen', role: 'owner', publishers: ['platform'] },
  { name: 'Tomás Herrera', role: 'admin', publishers: ['design-system'] },
  { name: 'Amara Okafor', role: 'admin', publishers: ['payments'] },
  { name: 'Jun Watanabe', role: 'member', publishers: ['mobile'] },
  { name: 'Priya Raman', role: 'member', publishers: ['logistics'] },
  { name: 'Lukas Brandt', role: 'member', publishers: [] },
  { name: 'Chloé Marchand', role: 'member', publishers: [] },
  { name: 'Mateusz Nowak', role: 'member', publishers: [] },
  { name: 'Sofia Lindqvist', role: 'member', publishers: [] },
  { name: 'Daniel Mensah', role: 'member', publishers: [] },
  { name: 'Elena Petrova', role: 'viewer', publishers: [] },
  { name: 'Noah Fischer', role: 'viewer', publishers: [] },
] as const

/** Returns the e-mail address of a person. */
export const emailOf = (name: string): string =>
  `${name
    .normalize('NFD')
    .replace(/[^\p{L} ]/gu, '')
    .toLowerCase()
    .replaceAll(' ', '.')}@harbor.example`

/** The packages, each after its dependencies. Columns: name | kind | publisher | weight | description | topics | types | dependencies. */
const table = `
harbor_lints | dart | platform | 92 | Lint rules and analyzer settings shared by all Harbor projects. | lints analysis | RuleSet Severity |
harbor_core | dart | platform | 98 | Results, identifiers, money and clocks: the vocabulary that the other packages share. | core utilities | Result Identifier Clock Money |
harbor_tokens | dart | design-system | 88 | Colors, spacing and type scale of the Harbor design language. | design-system theme | Palette Spacing TypeScale |
harbor_icons | flutter | design-system | 74 | The 320 icons of the Harbor apps, as one font. | icons design-system | IconSet IconGlyph | harbor_tokens
harbor_ui | flutter | design-system | 95 | Buttons, cards, sheets and navigation in the Harbor design language. | ui widget design-system | PrimaryButton ActionCard BottomPanel NavigationRail | harbor_tokens harbor_icons
harbor_forms | flutter | design-system | 66 | Accessible form fields with validation, masks and helpful errors. | forms validation ui | FormController TextEntry FieldRule | harbor_ui harbor_core
harbor_charts | flutter | design-system | 52 | Line, bar and ring charts that stay readable on small screens. | charts visualization ui | LineChart BarChart RingChart ChartScale | harbor_tokens
harbor_motion | flutter | design-system | 38 | Transitions and springs that respect reduced motion. | animation ui | SpringCurve PageTransition | harbor_tokens
harbor_illustrations | flutter | design-system | 29 | Vector illustrations for empty states and onboarding. | illustrations design-system | Illustration Scene | harbor_tokens
harbor_skeleton | flutter | design-system | 41 | Placeholders that have the shape of the content that loads. | loading ui | SkeletonBox Shimmer | harbor_tokens harbor_motion
harbor_logging | dart | platform | 84 | Structured logs with redaction of personal data. | logging observability | LogRecord LogSink Redaction | harbor_core
harbor_http | dart | platform | 90 | HTTP client with retries, deadlines, caching and request tracing. | http networking | HttpClient RetryPolicy RequestTrace | harbor_core harbor_logging
harbor_json | dart | platform | 58 | Typed JSON decoding that names the field that is wrong. | json serialization | JsonReader JsonFault | harbor_core
harbor_graphql | dart | platform | 47 | GraphQL client with a normalized cache. | graphql networking | GraphqlClient EntityCache Operation | harbor_http harbor_json
harbor_socket | dart | platform | 33 | WebSocket channels that reconnect and resume. | networking realtime | Channel ReconnectPolicy | harbor_core harbor_logging
harbor_storage | dart | platform | 71 | Key-value storage with encryption, quotas and migrations. | storage persistence | Store StoreKey Migration | harbor_core
harbor_sync | dart | platform | 44 | Offline queue and conflict resolution for mobile clients. | offline sync | SyncQueue ConflictRule | harbor_storage harbor_http
harbor_flags | dart | platform | 63 | Feature flags with gradual rollout and local overrides. | feature-flags configuration | FlagClient Rollout | harbor_http harbor_storage
harbor_config | dart | platform | 49 | Layered configuration from files, environment and remote values. | configuration | ConfigSource ConfigValue | harbor_core
harbor_auth | dart | platform | 86 | Sign-in, token refresh and permissions. | authentication security | AuthSession TokenStore Permission | harbor_http harbor_storage
harbor_crypto | dart | platform | 42 | Hashing, signatures and key derivation behind a small API. | cryptography security | Digest KeyPair Signature | harbor_core
harbor_analytics | dart | platform | 57 | Events and screens, batched and sent when the network allows. | analytics | AnalyticsEvent EventBatch | harbor_http harbor_core
harbor_crash | dart | platform | 51 | Crash reports with breadcrumbs and symbolized stacks. | crash-reporting observability | CrashReport Breadcrumb | harbor_logging harbor_http
harbor_cli | dart | platform | 35 | Commands for scaffolding, releases and code generation. | cli tooling | Command CommandRunner Progress | harbor_core
harbor_codegen | dart | platform | 31 | Builders for models, routes and translations. | codegen tooling | Builder ModelSpec | harbor_cli
harbor_test | dart | platform | 68 | Fakes, matchers and golden files for tests. | testing | FakeClock GoldenFile Matcher | harbor_core harbor_http
harbor_router | flutter | mobile | 72 | Typed routes, deep links and guarded navigation. | navigation routing | RouteTable RouteGuard DeepLink | harbor_core
harbor_state | flutter | mobile | 61 | Small observable stores with undo and persistence. | state-management | StateStore Selector | harbor_core
harbor_localization | flutter | mobile | 55 | Translations, plurals and formats for 18 languages. | localization i18n | MessageCatalog PluralRule | harbor_core
harbor_permissions | flutter | mobile | 46 | Asks for device permissions at the right time, in words that people understand. | permissions device | PermissionRequest PermissionState | harbor_ui
harbor_location | flutter | mobile | 59 | Position updates with battery budgets and background modes. | location device | PositionStream GeoFence Accuracy | harbor_permissions harbor_core
harbor_maps | flutter | mobile | 64 | Map view with clusters, routes and offline tiles. | maps ui | MapView MapMarker TileCache | harbor_location harbor_ui
harbor_camera | flutter | mobile | 43 | Document and parcel capture with edge detection. | camera device | CaptureSession DocumentEdge | harbor_permissions
harbor_scanner | flutter | mobile | 48 | Barcode and QR scanning on the device. | barcode camera | BarcodeScanner ScanResult | harbor_camera
harbor_notifications | flutter | mobile | 53 | Push and local notifications with channels and actions. | notifications device | NotificationChannel PushMessage | harbor_permissions harbor_http
harbor_bluetooth | flutter | mobile | 18 | Talks to label printers and parcel lockers. | bluetooth device | BluetoothDevice PrinterJob | harbor_permissions
harbor_biometrics | flutter | mobile | 27 | Fingerprint and face unlock with fallbacks. | biometrics security | BiometricPrompt UnlockResult | harbor_auth
harbor_deep_links | flutter | mobile | 22 | Universal links and app links. | deep-links routing | LinkHandler LinkRule | harbor_router
harbor_media | flutter | mobile | 26 | Image loading, caching and cropping. | images cache | ImageLoader CropBox | harbor_http harbor_storage
harbor_video | flutter | mobile | 14 | Video playback with captions. | video media | VideoPlayer CaptionTrack | harbor_media
harbor_money | dart | payments | 54 | Exact amounts, currencies and rounding rules. | money finance | Amount Currency Rounding | harbor_core
harbor_checkout | flutter | payments | 45 | Checkout sheet with saved addresses and vouchers. | payments ui | CheckoutSheet Voucher OrderSummary | harbor_forms harbor_money harbor_auth
harbor_cards | flutter | payments | 36 | Card entry, validation and tokenization. | payments security | CardForm CardToken | harbor_forms harbor_crypto
harbor_wallet | flutter | payments | 32 | Balances, top-ups and transaction history. | payments wallet | WalletView Transaction | harbor_money harbor_ui
harbor_invoices | dart | payments | 24 | Invoices as PDF, with taxes for 14 countries. | invoices pdf | Invoice TaxRule InvoiceLine | harbor_money
harbor_subscriptions | dart | payments | 19 | Plans, renewals and grace periods. | billing payments | Plan Renewal | harbor_money harbor_http
harbor_fraud | dart | payments | 16 | Risk signals for orders and sign-ins. | fraud security | RiskSignal RiskScore | harbor_analytics
harbor_vouchers | dart | payments | 21 | Rules and redemption of vouchers. | vouchers payments | VoucherRule Redemption | harbor_money
harbor_shipments | dart | logistics | 50 | Shipments, parcels and tracking events. | logistics tracking | Shipment Parcel TrackingEvent | harbor_core harbor_json
harbor_routing | dart | logistics | 37 | Plans tours with time windows and vehicle limits. | logistics routing | Tour TimeWindow Vehicle | harbor_shipments
harbor_tracking | flutter | logistics | 39 | Live tracking of couriers on a map. | tracking maps | CourierTrack EtaEstimate | harbor_maps harbor_socket harbor_shipments
harbor_warehouse | dart | logistics | 25 | Stock, bins and picking lists. | warehouse logistics | StockItem PickList Bin | harbor_shipments
harbor_labels | dart | logistics | 23 | Shipping labels for 30 carriers. | labels logistics | ShippingLabel CarrierCode | harbor_shipments
harbor_addresses | dart | logistics | 40 | Parses, formats and verifies postal addresses. | addresses logistics | PostalAddress AddressFormat | harbor_core
harbor_geo | dart | logistics | 30 | Distances, polygons and tiles. | geo math | GeoPoint Polygon TileRange | harbor_core
harbor_chat | flutter | | 34 | Support chat with attachments and typing indicators. | chat ui | ChatView ChatMessage | harbor_ui harbor_socket
harbor_onboarding | flutter | | 20 | Guided tours and first-run checklists. | onboarding ui | TourStep Checklist | harbor_ui harbor_illustrations
harbor_reviews | flutter | | 12 | Asks for reviews of orders, politely. | reviews ui | ReviewPrompt Rating | harbor_forms
harbor_legacy_auth | dart | | 9 | The first sign-in library, replaced by harbor_auth. | authentication | LegacySession LegacyToken |
courier_app_kit | flutter | logistics | 28 | Screens and flows that the courier apps share. | ui logistics | ShiftScreen DeliveryFlow ProofOfDelivery | harbor_tracking harbor_scanner harbor_router
`

/** Returns the packages of the demo, each after its dependencies. */
export function demoPackages(): DemoPackage[] {
  return table.trim().split('\n').map(parseRow)
}

function parseRow(row: string): DemoPackage {
  const [name = '', kind, publisher = '', weight, description = '', topics = '', types = '', dependencies = ''] = row
    .split('|')
    .map((cell) => cell.trim())
  const words = (cell: string) => cell.split(' ').filter(Boolean)
  return {
    name,
    kind: kind === 'flutter' ? 'flutter' : 'dart',
    publisher: publisher || null,
    weight: Number(weight),
    description,
    topics: words(topics),
    types: words(types),
    dependencies: words(dependencies),
  }
}
