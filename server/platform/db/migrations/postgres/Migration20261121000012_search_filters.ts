import { Migration } from '@mikro-orm/migrations'

// Recreates the search index with an additional column for tags. The server fills the index when it starts (server/search/rebuild.ts).
export class Migration20261121000012_search_filters extends Migration {
  override up() {
    this.addSql('alter table "package_versions" add "license" varchar(64) null;')
    this.addSql('create index "package_versions_package_id_retracted_at_index" on "package_versions" ("package_id", "retracted_at");')
    this.addSql('drop table "package_search_full";')
    this.addSql('drop table "package_search_brief";')
    this.addSql('drop table "package_search_documents";')
    this.addSql('create table "package_search_documents" ("id" bigint generated always as identity primary key, "package_id" uuid not null unique references "packages" ("id") on delete cascade, "name" varchar(64) collate "C" not null unique, "created_at" bigint not null, "updated_at" bigint not null, "shown_to" smallint not null, "downloads" bigint not null default 0, "likes" bigint not null default 0, "tags" text not null);')
    this.addSql('create index "package_search_documents_updated" on "package_search_documents" ("updated_at", "id");')
    this.addSql('create index "package_search_documents_public_updated" on "package_search_documents" ("updated_at", "id") where "shown_to" = 2;')
    this.addSql('create index "package_search_documents_created" on "package_search_documents" ("created_at", "id");')
    this.addSql('create index "package_search_documents_public_created" on "package_search_documents" ("created_at", "id") where "shown_to" = 2;')
    this.addSql('create index "package_search_documents_downloads" on "package_search_documents" ("downloads", "id");')
    this.addSql('create index "package_search_documents_public_downloads" on "package_search_documents" ("downloads", "id") where "shown_to" = 2;')
    this.addSql('create index "package_search_documents_likes" on "package_search_documents" ("likes", "id");')
    this.addSql('create index "package_search_documents_public_likes" on "package_search_documents" ("likes", "id") where "shown_to" = 2;')
    this.addSql('create index "package_search_documents_public_name" on "package_search_documents" ("name") where "shown_to" = 2;')
    this.addSql('create index "package_search_documents_shown_to" on "package_search_documents" ("shown_to");')
    this.addSql('create index "package_search_documents_trigrams" on "package_search_documents" using gin ("name" gin_trgm_ops);')
    this.addSql('create table "package_search_brief" ("id" bigint primary key references "package_search_documents" ("id") on delete cascade, "terms" tsvector not null);')
    this.addSql('create index "package_search_brief_terms" on "package_search_brief" using gin ("terms") with (fastupdate = off);')
    this.addSql('create table "package_search_full" ("id" bigint primary key references "package_search_documents" ("id") on delete cascade, "terms" tsvector not null) with (toast_tuple_target = 128);')
    this.addSql('create index "package_search_full_terms" on "package_search_full" using gin ("terms") with (fastupdate = off);')
  }
}
