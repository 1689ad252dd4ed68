import { createRequire } from 'node:module';

/**
 * Hosts whose pages belong to others than the owner of the host. What is behind `linkedin.com/` says
 * nothing about LinkedIn, and `linkedin.com` alone is LinkedIn.
 *
 * An entry is a domain, with all hosts below it; `=` before it leaves those out (there each customer
 * has a host), `.*` at its end stands for any public suffix. A path limits it to what is behind that
 * path. The largest of each kind: networks, shorteners, pages of links, shops of apps, maps and
 * directories, markets, builders of sites, mail gateways whose links do not show where they lead.
 */
const SHARED =
  'facebook.com fb.com fb.me m.me instagram.com threads.net threads.com twitter.com x.com t.co linkedin.com lnkd.in xing.com ' +
  'youtube.com youtu.be tiktok.com pinterest.* pin.it snapchat.com reddit.com vk.com ok.ru weibo.com weixin.qq.com mp.weixin.qq.com ' +
  'bilibili.com zhihu.com line.me blog.naver.com cafe.naver.com wa.me whatsapp.com t.me telegram.me discord.gg discord.com twitch.tv vimeo.com ' +
  'flickr.com behance.net dribbble.com soundcloud.com open.spotify.com meetup.com bsky.app quora.com researchgate.net academia.edu ' +
  'slideshare.net issuu.com scribd.com =tumblr.com =medium.com =substack.com =bandcamp.com github.com gitlab.com bitbucket.org ' +
  'sourceforge.net huggingface.co npmjs.com/package pypi.org/project hub.docker.com ' +
  'bit.ly bitly.com goo.gl g.co tinyurl.com ow.ly is.gd buff.ly rebrand.ly cutt.ly shorturl.at t.ly s.id lnk.to dlvr.it adf.ly clck.ru ' +
  'amzn.to a.co apple.co wp.me aka.ms 1drv.ms hubs.ly mailchi.mp eepurl.com page.link app.link onelink.me qrco.de ' +
  'linktr.ee beacons.ai bio.link bio.site lnk.bio taplink.cc linkin.bio campsite.bio about.me gravatar.com calendly.com cal.com ' +
  'forms.gle docs.google.com drive.google.com forms.office.com surveymonkey.com jotform.com eventbrite.* patreon.com ko-fi.com ' +
  'gofundme.com kickstarter.com indiegogo.com paypal.me zoom.us/j meet.google.com teams.microsoft.com ' +
  'apps.apple.com itunes.apple.com play.google.com chrome.google.com chromewebstore.google.com apps.microsoft.com appsource.microsoft.com ' +
  'marketplace.visualstudio.com apps.shopify.com appexchange.salesforce.com wordpress.org/plugins store.steampowered.com ' +
  'maps.google.* google.*/maps google.*/search news.google.com g.page maps.apple.com bing.com/maps bing.com/search business.google.com ' +
  'openstreetmap.org waze.com yandex.*/maps 2gis.* map.baidu.com ' +
  'wikipedia.org wikidata.org crunchbase.com wellfound.com producthunt.com trustpilot.* glassdoor.* indeed.* kununu.com yelp.* ' +
  'tripadvisor.* foursquare.com zoominfo.com opencorporates.com northdata.* bloomberg.com/profile manta.com bbb.org yellowpages.* ' +
  'gelbeseiten.de 11880.com dasoertliche.de pagesjaunes.fr paginegialle.it houzz.* zomato.com opentable.* booking.com/hotel ' +
  'airbnb.*/rooms expedia.* imdb.com clutch.co/profile g2.com/products ' +
  'amazon.* ebay.* etsy.com aliexpress.* alibaba.com taobao.com tmall.com jd.com rakuten.co.jp mercadolibre.* allegro.pl shopee.* ' +
  'lazada.* flipkart.com indiamart.com made-in-china.com fiverr.com upwork.com freelancer.com kleinanzeigen.de craigslist.org ' +
  'leboncoin.fr ubereats.com doordash.com lieferando.de =gumroad.com ' +
  'sites.google.com =wixsite.com =weebly.com =canva.site =notion.site notion.so homepage.t-online.de home.t-online.de perso.orange.fr ' +
  's3.amazonaws.com storage.googleapis.com onedrive.live.com dropbox.com/s dropbox.com/scl raw.githubusercontent.com ' +
  'urldefense.com urldefense.us urldefense.proofpoint.com mimecast.com/s mimecastprotect.com bing.com/ck ' +
  'translate.goog list-manage.com ct.sendgrid.net awstrack.me hubspotlinks.com search.yahoo.* duckduckgo.com npmjs.com/~ microsoft.com/p ' +
  'safelinks.protection.outlook.com statics.teams.cdn.office.net linkprotect.cudasvc.com secure-web.cisco.com protection.sophos.com ' +
  'googleadservices.com doubleclick.net translate.google.* slack-redir.net href.li web.archive.org/web awin1.com viglink.com';

/** A path that says that a link leads elsewhere, whatever the host: `r.clutch.co/redirect?u=…`. */
const REDIRECT =
  /\/(?:redir\w*|away|out|outbound|outgoing|exit|goto|click\w*|external\w*|leave|track\w*|url|l|aclk|imgres|linkfilter|offsite|biz_redir)(?:\.php)?(?:[/?]|$)/i;
/** Pages that a host has of its own, also in a language. Behind some of these names nobody else has any. */
const OWN_PAGE =
  /^[\\/]+(?:(?:-[\\/]+[a-z]{2}|[a-z]{2}[-_][a-z]{2})[\\/]+)?(?:(?:about(?:-?us)?|careers?|press|newsroom|legal|privacy|investors?)(?:[\\/].*)?|company|jobs|contact(?:-us)?|news|terms|imprint|impressum|team|pricing|help|support|login|signup)(?:\.(?:html?|php|aspx))?[\\/]?(?:[?#].*)?$/is;

/**
 * Finds out whether what is behind a host belongs to others than the owner of the host.
 *
 * @param host in ASCII, without `www.`
 * @param registered its registrable part
 * @param behind path, query and fragment
 * @returns if so, texts that may be where it leads, the most likely first; none for most pages
 */
export function findSharedPage(
  host: string,
  registered: string,
  behind: string,
): readonly string[] | undefined {
  const targets = REDIRECT.test(behind.split('?', 1).join()) ? targetsIn(behind) : [];
  if (targets.length > 0) return targets;
  const isOthers = hasEntry(host, registered, behind) && !OWN_PAGE.test(behind);
  return isOthers && !HOME.test(behind) ? [] : undefined;
}

/** Nothing but the host's own front page. */
const HOME = /^[\\/]*(?:(?:index|default|home)(?:\.[a-z]{2,5})?[\\/]?)?(?:#(?![!/]).*)?$/i;

/** The paths of each entry; none for the labels in them. */
let entries: ReadonlyMap<string, readonly string[]> | undefined;

function readEntries(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const entry of SHARED.split(' ')) {
    const [, name = '', path = ''] = /^([^/]+)(.*)/.exec(entry) ?? [];
    found.set(name, [...(found.get(name) ?? []), path]);
    for (const label of name.split(/[=.]/)) found.set(label, []);
  }
  return found;
}

/** Whether there is an entry of a host, or of one above it, with its public suffix or with any. */
function hasEntry(host: string, registered: string, behind: string): boolean {
  entries ??= readEntries();
  const label = registered.slice(0, registered.indexOf('.'));
  if (!entries.has(label)) return false; // as for most
  const anySuffix = host.slice(0, host.length - registered.length) + label;
  const names = [`=${host}`];
  for (const written of [host, `${anySuffix}.*`]) {
    for (let name = written; name.includes('.'); name = name.slice(name.indexOf('.') + 1))
      names.push(name);
  }
  return names.some((name) => entries?.get(name)?.some((path) => isBehind(path, behind)));
}

function isBehind(path: string, behind: string): boolean {
  const end = path.length;
  const isWord = /[\w-]{2}/.test(behind.slice(end - 1, end + 1)); // `/products` is not behind `/p`
  return behind.slice(0, end).toLowerCase() === path && !isWord;
}

const MOST_TARGETS = 8;
const URL_START = /^(?:https?:[\\/]|www\.)/i;

/** The addresses in a link: parameters that are URLs. */
function targetsIn(behind: string): readonly string[] {
  const query = behind.slice(behind.search(/[?#]|$/) + 1);
  return query
    .split(/[&;#]/, 100)
    .map((pair) => decode(pair.slice(pair.indexOf('=') + 1)))
    .filter((text) => URL_START.test(text))
    .slice(0, MOST_TARGETS);
}

function decode(text: string): string {
  let plain = text;
  // No further than to a URL: what is encoded in it is its own.
  for (let times = 0; times < 3 && plain.includes('%') && !URL_START.test(plain); times += 1) {
    try {
      plain = decodeURIComponent(plain);
    } catch {
      return plain;
    }
  }
  return plain;
}

/**
 * Whether anybody can have an e-mail address at a domain, so that it says nothing about the owner
 * of an address there. These are free mail services, and mail of Internet access providers. Loaded
 * from the package `email-providers` at the first call.
 */
export function isFreeMail(domain: string): boolean {
  listed ??= loadListed();
  return ADDED.has(domain) || (listed.has(domain) && !LEFT_OUT.has(domain));
}

let listed: ReadonlySet<string> | undefined;

function loadListed(): ReadonlySet<string> {
  const require = createRequire(import.meta.url);
  return new Set(require('email-providers/all.json') as readonly string[]);
}

/** Providers that are known to be missing in the package. */
const ADDED = new Set(
  (
    '139.com 189.cn citromail.hu duck.com fastmail.com fastmail.fm gmx.ch mynet.com nifty.com online.no ' +
    'otenet.gr posteo.de riseup.net sohu.com suomi24.fi telefonica.net tuta.com tuta.io tutamail.com ' +
    'tutanota.com tutanota.de ziggo.nl'
  ).split(' '),
);

/**
 * Domains that are in the package, although addresses there belong to their company, or are
 * examples.
 */
const LEFT_OUT = new Set(
  (
    'alibaba.com ancestry.com bt.com discovery.com dnsmadeeasy.com example.com facebook.com ' +
    'frontier.com games.com medscape.com mydomain.com'
  ).split(' '),
);
